/**
 * What a provider link keeps on this machine.
 *
 *   <COTAL_HOME>/hosted-tokens.json                            tokens that were made, by address and node (0600)
 *   <root>/.cotal/space.<key>/provider/<agent id>.json         what the bridge knows of the entries of a hosted agent
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { spaceKey } from '../../domain/names.ts';
import { cotalFolder } from './auth-store.ts';
import { readJsonFile, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';
import { cotalHome } from './nats-binary.ts';

const tokensSchema = z.object({ version: z.literal(1), tokens: z.record(z.string(), z.string()) });

/** Tokens by origin and node id together: one never goes to another address (PRV-08). */
export function hostedTokens({ home = cotalHome() }: { home?: string } = {}) {
  const path = join(home, 'hosted-tokens.json');
  const read = () => readJsonFile(path, tokensSchema)?.tokens ?? {};
  const keyOf = ({ origin, nodeId }: { origin: string; nodeId: string }) => JSON.stringify([origin, nodeId]);
  return {
    read: (of: { origin: string; nodeId: string }): string | undefined => read()[keyOf(of)],
    write({ token, ...of }: { origin: string; nodeId: string; token: string }): void {
      const tokens = { ...read(), [keyOf(of)]: token };
      writeAtomic(path, `${JSON.stringify({ version: 1, tokens })}\n`, SECRET_FILE, SECRET_FOLDER);
    },
  };
}

/** `members` is not known to an older build, which passes over it. */
const marksSchema = z.object({
  version: z.literal(1),
  held: z.record(z.string(), z.int().min(1)),
  members: z.record(z.string(), z.string()).optional(),
  settled: z.array(z.int().min(1)),
});
interface Marks {
  readonly held: Readonly<Record<string, number>>;
  readonly members?: Readonly<Record<string, string>> | undefined;
  readonly settled: readonly number[];
}

/** The bridge's marks, a file an agent. `origin` and `nodeId`: where the agents are. */
export function bridgeMarks(of: { root: string; space: string; origin: string; nodeId: string }) {
  const pathOf = (agentId: string): string => {
    const name = createHash('sha256')
      .update(JSON.stringify([of.origin, of.nodeId, agentId]))
      .digest('hex')
      .slice(0, 32);
    return join(cotalFolder(of.root), `space.${spaceKey(of.space)}`, 'provider', `${name}.json`);
  };
  return {
    read(agentId: string) {
      return readJsonFile(pathOf(agentId), marksSchema);
    },
    write(agentId: string, marks: Marks): void {
      writeAtomic(pathOf(agentId), `${JSON.stringify({ version: 1, ...marks })}\n`, SECRET_FILE, SECRET_FOLDER);
    },
  };
}
