/**
 * An agent in thirty lines: joins a channel, says hello, and prints what is posted until it is stopped.
 *
 *   cotal agent add bob --read "team.>" --post "team.>"
 *   node --conditions=plane3-source examples/agent.ts nats://127.0.0.1:4222 <path of bob's creds> team.general
 */
import { readFileSync } from 'node:fs';
import { connectAgent } from 'plane3/client';

const [url = '', credsFile = '', channel = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

const agent = await connectAgent({
  url,
  creds: readFileSync(credsFile, 'utf8'),
  presence: { kind: 'agent' },
  // "live" with its reason until a daemon has granted the backstop, "durable" from then on.
  onStanding: ({ state, reason }) => say(`${channel}: ${state}${reason === undefined ? '' : ` (${reason})`}`),
});
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

await agent.join(channel);
await agent.post({ channel, text: `${agent.name} is here` });
for await (const post of agent.read({ follow: true, signal: stop.signal })) {
  const [part] = post.message.parts;
  say(`${post.message.from.name}: ${part !== undefined && 'text' in part ? String(part.text) : '…'}`);
  // Surfaced: only now it is not owed any more. What is not confirmed comes again.
  await post.confirm();
}
await agent.close();
