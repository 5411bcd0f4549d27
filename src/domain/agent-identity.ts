/** Whose credential this is: the one lifecycle and the one space that its rights name. Nobody has to be told beside it. */
import type { UserClaims } from './claims.ts';
import type { Member } from './names.ts';
import { readDeliveryConsumer, streams } from './subjects.ts';

export interface AgentIdentity {
  readonly space: string;
  readonly member: Member;
}

const INFO = '$JS.API.CONSUMER.INFO.';

/** The identity in an agent's rights, or undefined for a credential of another profile. */
export function readIdentity(claims: UserClaims): AgentIdentity | undefined {
  const found = (claims.nats.pub?.allow ?? []).flatMap((line) => {
    if (!line.startsWith(INFO)) return [];
    const [stream = '', consumer = '', ...rest] = line.slice(INFO.length).split('.');
    const member = readDeliveryConsumer(consumer);
    const space = stream.slice(streams('').dlv.length);
    return rest.length === 0 && member !== undefined && streams(space).dlv === stream ? [{ space, member }] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}
