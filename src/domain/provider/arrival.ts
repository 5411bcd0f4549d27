/**
 * Arrival (rule 1): what is decided about a frame synchronously, before any await. The order is part of the contract:
 * a frame that is no message at all; then a socket that is not bound, whatever the rest of the frame looks like; then the
 * schema. A refused frame changes nothing and is no sign of life.
 */
import { type ClientFrame, clientFrames, isFrameType } from './frames.ts';
import { exceedsBytes, isName } from './names.ts';

export type Arrival =
  | { readonly outcome: 'accepted'; readonly frame: ClientFrame }
  /** The socket is to be closed with 1009. */
  | { readonly outcome: 'too_big' }
  | {
      readonly outcome: 'refused';
      /** Id of the request, where it has one that can be repeated. */
      readonly id: string | undefined;
      readonly code: 'invalid_message' | 'provider_not_registered';
      readonly message: string;
    };

const refused = (
  id: string | undefined,
  code: 'invalid_message' | 'provider_not_registered',
  message: string,
): Arrival => ({ outcome: 'refused', id, code, message });

export interface ArrivingFrame {
  /** The text of the frame; anything else stands for a binary frame. */
  readonly data: unknown;
  /** Whether `node.register` has succeeded on this very connection. */
  readonly bound: boolean;
  readonly frameBytes: number;
}

export function judgeArrival({ data, bound, frameBytes }: ArrivingFrame): Arrival {
  if (typeof data !== 'string') return refused(undefined, 'invalid_message', 'binary frames are not accepted');
  if (exceedsBytes(data, frameBytes)) return { outcome: 'too_big' };
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return refused(undefined, 'invalid_message', 'the frame is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refused(undefined, 'invalid_message', 'the frame is not an object');
  const { v, type, id } = value as Readonly<Record<string, unknown>>;
  const named = typeof id === 'string' && isName(id) ? id : undefined;
  if (typeof type !== 'string') return refused(named, 'invalid_message', 'the frame has no type');
  if (v !== 1) return refused(named, 'invalid_message', 'v is not 1');
  if (!bound && type !== 'node.register')
    return refused(named, 'provider_not_registered', 'node.register has not succeeded on this connection');
  if (!isFrameType(type)) return refused(named, 'invalid_message', 'the type is not known');
  const parsed = clientFrames[type].safeParse(value);
  if (parsed.success) return { outcome: 'accepted', frame: parsed.data };
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.').slice(0, 100)}: `;
  return refused(named, 'invalid_message', `${type}: ${where}${issue?.message.slice(0, 200) ?? 'is not valid'}`);
}
