/** Channels and posts over HTTP. */
import { z } from 'zod';
import { name } from '../../domain/provider/names.ts';
import {
  channelMembers,
  createChannel,
  findAgent,
  joinChannel,
  listChannels,
  muteChannel,
} from '../engine/directory.ts';
import { postMessage } from '../engine/messages.ts';
import { bodyOf, ok, Refused } from './answers.ts';
import { actingAgent, callerByHeader } from './callers.ts';
import type { Exchange } from './exchange.ts';

const TEXT_CHARACTERS = 256 * 1024;
const noChannel = () => new Refused(404, 'channel_not_found', 'there is no such channel');

export async function getChannels({ engine, request }: Exchange): Promise<Response> {
  const { workspace } = await callerByHeader(engine, request);
  return ok(await listChannels(engine, workspace));
}

export async function postChannels({ engine, request }: Exchange): Promise<Response> {
  const { workspace } = await callerByHeader(engine, request);
  const body = await bodyOf(request, z.strictObject({ name }));
  const made = await createChannel(engine, { workspace, name: body.name });
  if (made.outcome === 'taken') throw new Refused(409, 'channel_already_exists', 'the name is taken');
  return ok({ id: made.id, name: body.name }, 201);
}

export async function postJoin({ engine, request, name: channel }: Exchange): Promise<Response> {
  const caller = await callerByHeader(engine, request);
  const body = await bodyOf(request, z.strictObject({ agent_name: name.optional() }));
  const agent = actingAgent(caller, body.agent_name);
  if (!(await joinChannel(engine, { workspace: caller.workspace, channel, agent })))
    throw new Refused(404, 'not_found', 'there is no such channel or agent');
  return ok({ channel, agent_name: agent });
}

export async function postMute({ engine, request, name: channel }: Exchange): Promise<Response> {
  const caller = await callerByHeader(engine, request);
  const body = await bodyOf(request, z.strictObject({ agent_name: name.optional(), muted: z.boolean().optional() }));
  const agent = actingAgent(caller, body.agent_name);
  const muted = body.muted !== false;
  if (!(await muteChannel(engine, { workspace: caller.workspace, channel, agent, muted })))
    throw new Refused(404, 'not_found', 'the agent is no member of such a channel');
  return ok({ channel, agent_name: agent, muted });
}

export async function getMembers({ engine, request, name: channel }: Exchange): Promise<Response> {
  const { workspace } = await callerByHeader(engine, request);
  const members = await channelMembers(engine, { workspace, channel });
  if (members === undefined) throw noChannel();
  return ok(members);
}

const post = z.strictObject({
  text: z.string().max(TEXT_CHARACTERS),
  from: name.optional(),
  mode: z.enum(['wait', 'steer']).optional(),
  idempotency_key: name.optional(),
});

/** A post: 201 with each recipient and how its copy stands; a repeated key answers with the first post's. */
export async function postMessages({ engine, dispatcher, request, name: channel }: Exchange): Promise<Response> {
  const caller = await callerByHeader(engine, request);
  if (caller.kind === 'node') throw new Refused(403, 'forbidden', 'a node does not post');
  const body = await bodyOf(request, post);
  const { workspace } = caller;
  const from = caller.kind === 'agent' ? actingAgent(caller, body.from) : (body.from ?? 'workspace');
  const known = caller.kind === 'agent' ? undefined : await findAgent(engine, { workspace, name: from });
  const sender = caller.kind === 'agent' ? { id: caller.agent, name: from } : { ...idOf(known), name: from };
  const outcome = await postMessage(engine, dispatcher, {
    workspace,
    channel,
    text: body.text,
    mode: body.mode ?? 'wait',
    sender,
    idempotencyKey: body.idempotency_key,
  });
  if (outcome.outcome === 'no_channel') throw noChannel();
  return ok({ id: outcome.id, recipients: outcome.recipients }, outcome.outcome === 'posted' ? 201 : 200);
}

const idOf = (agent: Readonly<Record<string, unknown>> | undefined) =>
  agent === undefined ? {} : { id: String(agent.id) };
