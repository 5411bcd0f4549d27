/** Preloaded into a process whose clock shall be wrong: by TORTURE_SKEW_MS from the start, and by that much again at each SIGUSR2. */
const by = Number(process.env.TORTURE_SKEW_MS ?? 0);
let skew = by;
const now = Date.now.bind(Date);
Date.now = () => now() + skew;
process.on('SIGUSR2', () => {
  skew += by;
});
