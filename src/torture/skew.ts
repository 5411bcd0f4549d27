/**
 * Preloaded into a process whose clock shall be wrong: by TORTURE_SKEW_MS from the start, and by that much again when the process
 * is TORTURE_SKEW_JUMP_MS old.
 */
const { TORTURE_SKEW_MS = '0', TORTURE_SKEW_JUMP_MS = 'Infinity' } = process.env;
const [by, jumpMs] = [Number(TORTURE_SKEW_MS), Number(TORTURE_SKEW_JUMP_MS)];
const now = Date.now.bind(Date);
Date.now = () => now() + (performance.now() < jumpMs ? by : 2 * by);
