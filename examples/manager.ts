/**
 * A manager that is not ours, in thirty lines: waits for the delivery daemon, proves that both sides have the same store,
 * repairs a gate that a dead one left, and registers. Ctrl-C cancels whatever it is at; nothing is sent after.
 *
 *   node --conditions=plane3-source examples/manager.ts <root> <space> nats://127.0.0.1:4222
 */
import { openWorkstation, proveStore, register, repairGate, waitForRail } from 'plane3/manager';

const [root = '', space = '', url = ''] = process.argv.slice(2);
const instance = { endpoint: 'example', instance: 'one' };
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`received ${name}`)));
const { signal } = stop;
const say = (what: string, outcome: object) => process.stdout.write(`${what}: ${JSON.stringify(outcome)}\n`);

const { ports, store, close } = await openWorkstation({ root, space, url });
try {
  const rail = await waitForRail(ports, {}, { signal });
  if (rail.type !== 'wait.answered') throw new Error(rail.message);
  const proof = await proveStore(ports, { store }, { signal });
  say('proof', { end: proof.end, message: proof.message });
  const repair = await repairGate(ports, instance, { signal });
  say('repair', { end: repair.end });
  const registration = await register(ports, { ...instance, incarnation: ports.principal }, { signal });
  say('registration', { end: registration.end, epoch: registration.processEpoch });
} catch (error) {
  say('stopped', { why: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
} finally {
  await close();
}
