/** The decoders of the provider plane, given whatever: they answer, refuse by name, and take nothing malformed. FUZZ_RUNS inputs each. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { judgeArrival } from '../../../src/domain/provider/arrival.ts';
import { clientFrames } from '../../../src/domain/provider/frames.ts';
import { readAgentReply, readInventoryReply, readServerFrame } from '../../../src/domain/provider/link-frames.ts';

const numRuns = Number(process.env.FUZZ_RUNS ?? 300);
const FRAME_BYTES = 4_096;

const strange = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null), fc.double());
const type = fc.oneof(fc.constantFrom(...Object.keys(clientFrames), 'deliver', 'reply', 'error'), fc.string());
/** A field of a frame: mostly of its kind, sometimes anything. */
const usual = (value: fc.Arbitrary<unknown>) =>
  fc.oneof({ arbitrary: value, weight: 6 }, { arbitrary: strange, weight: 1 });
const word = usual(fc.constantFrom('n', 'broker', 'Ann', 'i1'));
const whole = usual(fc.nat());
const frame = fc.record(
  {
    v: usual(fc.constant(1)),
    type,
    id: word,
    ok: usual(fc.boolean()),
    ...Object.fromEntries(
      [
        'name',
        'node_id',
        'agent',
        'agent_id',
        'delivery_id',
        'msg_id',
        'expected_agent_id',
        'code',
        'message',
        'version',
      ].map((name) => [name, word]),
    ),
    ...Object.fromEntries(
      ['seq', 'up_to_seq', 'max_agents', 'active_agents', 'handlers_live', 'load', 'retry_after_ms'].map((name) => [
        name,
        whole,
      ]),
    ),
    mode: usual(fc.constantFrom('wait', 'steer')),
    provider: usual(fc.record({ name: word, instance_id: word })),
    agents: usual(fc.array(fc.record({ agent_id: word, name: word }), { maxLength: 3 })),
    capabilities: usual(fc.array(fc.record({ name: word }), { maxLength: 3 })),
    tags: usual(fc.array(word, { maxLength: 3 })),
    payload: usual(fc.record({ type: word, data: strange })),
    data: strange,
  },
  { requiredKeys: [] },
);
/** Frames that are right but for a field here and there: unknown keys are refused, so that few of the above are taken. */
const agents = usual(fc.array(fc.record({ agent_id: word, name: word }), { maxLength: 3 }));
const shapes: readonly { type: string; fields: Record<string, fc.Arbitrary<unknown>> }[] = [
  { type: 'node.heartbeat', fields: { active_agents: whole, handlers_live: whole } },
  { type: 'delivery.ack', fields: { agent: word, up_to_seq: whole } },
  { type: 'inventory.sync', fields: { agents } },
  {
    type: 'node.register',
    fields: {
      ...{ name: word, node_id: word, max_agents: whole, version: word },
      provider: usual(fc.record({ name: word, instance_id: word })),
      capabilities: usual(fc.array(fc.record({ name: word }), { maxLength: 3 })),
      tags: usual(fc.array(word, { maxLength: 3 })),
    },
  },
  { type: 'reply', fields: { id: word, ok: usual(fc.constant(true)), data: strange } },
  {
    type: 'deliver',
    fields: {
      ...{ delivery_id: word, agent_id: word, agent: word, msg_id: word, seq: whole },
      mode: usual(fc.constantFrom('wait', 'steer')),
      payload: usual(fc.record({ type: word, data: strange })),
    },
  },
];
const nearly = fc.oneof(
  ...shapes.map(({ type: named, fields }) =>
    fc.record({ v: usual(fc.constant(1)), type: fc.constant(named), ...fields }),
  ),
);
const data = fc.oneof(
  { arbitrary: nearly.map((value) => JSON.stringify(value)), weight: 4 },
  { arbitrary: frame.map((value) => JSON.stringify(value)), weight: 4 },
  { arbitrary: strange.map((value) => JSON.stringify(value) ?? ''), weight: 1 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 2 * FRAME_BYTES }), weight: 1 },
  { arbitrary: fc.uint8Array({ maxLength: 64 }), weight: 1 },
);
const always = <T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => void): void =>
  fc.assert(fc.property(arbitrary, holds), { numRuns });

it("a client's frame is one of its type, or refused by name, and an unbound socket may only register", () => {
  let accepted = 0;
  always(fc.tuple(data, fc.boolean()), ([text, bound]) => {
    const arrival = judgeArrival({ data: text, bound, frameBytes: FRAME_BYTES });
    switch (arrival.outcome) {
      case 'accepted':
        accepted++;
        expect(bound || arrival.frame.type === 'node.register').toBe(true);
        expect(clientFrames[arrival.frame.type].safeParse(arrival.frame).success).toBe(true);
        break;
      case 'refused':
        expect(arrival.message).not.toBe('');
        expect(arrival.message.length).toBeLessThan(400);
        break;
      case 'too_big':
        expect(Buffer.byteLength(String(text))).toBeGreaterThan(FRAME_BYTES);
    }
  });
  // Some are taken: otherwise nothing was said of those.
  expect(accepted).toBeGreaterThan(0);
});

it("a server's frame is a delivery or an answer in its shape, or unreadable with a reason", () => {
  always(fc.tuple(data, fc.oneof(frame, strange)), ([text, value]) => {
    const heard = readServerFrame(text);
    if (heard.kind === 'unreadable') expect(heard.why).not.toBe('');
    if (heard.kind === 'deliver') expect(heard.deliver.seq).toBeGreaterThan(0);
    if (heard.kind === 'error') expect(heard.error.message.length).toBeLessThanOrEqual(300);
    readInventoryReply(value);
    readAgentReply(value);
  });
});
