/** The rail of the manager, `ctl.manager.<owner>.<actor>`: the same envelope as the daemon's rails. **Ours**. */
import { z } from 'zod';
import { Plane3Error } from './errors/catalogue.ts';
import { patternSchema, principalSchema, tokenSchema } from './names.ts';
import { firstIssue, requestSchema } from './rail.ts';

const session = z.string().regex(/^[A-Za-z0-9_]{1,48}$/, 'not 1 to 48 of A-Z a-z 0-9 _');

export const managerOps = {
  provision: z.strictObject({
    name: tokenSchema,
    owner: tokenSchema.optional(),
    read: z.array(patternSchema),
    post: z.array(patternSchema),
  }),
  grant: z.strictObject({
    principal: principalSchema,
    read: z.array(patternSchema).optional(),
    post: z.array(patternSchema).optional(),
  }),
  retire: z.strictObject({ principal: principalSchema }),
  attach: z.strictObject({ session }),
  detach: z.strictObject({ session }),
  reconcileGate: z.strictObject({}),
  status: z.strictObject({}),
} as const;
export type ManagerOp = keyof typeof managerOps;
export type ManagerArgs<O extends ManagerOp> = z.infer<(typeof managerOps)[O]>;

/** Reads a request. @throws Plane3Error `rail.bad-args` or `rail.unknown-op`, naming what is wrong. */
export function readManagerRequest(principal: string, body: unknown): { op: ManagerOp; args: never } {
  const request = requestSchema.safeParse(body);
  if (!request.success) {
    throw new Plane3Error('rail.bad-args', { op: 'request', reason: 'not a JSON object with op and args' });
  }
  const { op, args, from } = request.data;
  if (from !== undefined && from.id !== principal) {
    throw new Plane3Error('rail.bad-args', {
      op,
      reason: `from.id is "${from.id}", but the subject says ${principal}`,
    });
  }
  if (!Object.hasOwn(managerOps, op)) throw new Plane3Error('rail.unknown-op', { op, rail: 'ctl.manager' });
  const parsed = managerOps[op as ManagerOp].safeParse(args ?? {});
  if (!parsed.success) throw new Plane3Error('rail.bad-args', { op, reason: firstIssue(parsed.error) });
  return { op: op as ManagerOp, args: parsed.data as never };
}
