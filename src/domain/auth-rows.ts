import { z } from 'zod';
import { principalSchema, uidSchema } from './names.ts';

/** Rows of the auth bucket: who has which lifecycle, whether its gate is open, which credentials it was given. */

export const uidKey = (uid: string): string => `uid.${uid}`;
export const headKey = (principal: string): string => `lifecycle.${principal}`;
export const gateKey = (uid: string): string => `gate.${uid}`;
export const ledgerKey = (uid: string, credentialId: string): string => `cred.${uid}.${credentialId}`;

/** A uid that was taken: never deleted, so that it is never used again. */
export const reservationSchema = z.looseObject({ principal: principalSchema, reservedAt: z.number() });

const headFields = {
  owner: z.string(),
  actor: z.string(),
  lifecycleUid: uidSchema,
  managerInstance: z.string(),
  processEpoch: z.int().min(0),
};
/** The current lifecycle of a principal. A retired one may be followed by a new one with a new uid. */
export const headSchema = z.discriminatedUnion('state', [
  z.looseObject({ ...headFields, state: z.literal('active') }),
  z.looseObject({ ...headFields, state: z.literal('retiring'), op: z.looseObject({ opId: z.string() }) }),
  z.looseObject({ ...headFields, state: z.literal('retired') }),
]);
export type LifecycleHead = z.infer<typeof headSchema>;

export const gateOperationSchema = z.looseObject({
  opId: z.string(),
  kind: z.enum(['activation', 'takeover', 'registration', 'retirement']),
  successor: z.string().optional(),
});
const gateFields = {
  generation: z.int().min(0),
  processEpoch: z.int().min(0).optional(),
  principal: principalSchema.optional(),
};
/** `op` is there exactly when the gate is not open. */
export const gateSchema = z.discriminatedUnion('state', [
  z.looseObject({ ...gateFields, state: z.literal('open'), op: z.undefined().optional() }),
  z.looseObject({ ...gateFields, state: z.literal('frozen'), op: gateOperationSchema }),
  z.looseObject({ ...gateFields, state: z.literal('retired'), op: gateOperationSchema }),
]);
export type Gate = z.infer<typeof gateSchema>;

/** One credential that was issued; written before the credential leaves. `exp`: seconds, or null for none. */
export const ledgerSchema = z.looseObject({
  credentialId: z.string(),
  holderPrincipal: principalSchema,
  lifecycleUid: uidSchema,
  state: z.enum(['active', 'revoked']),
  exp: z.number().nullable(),
  sourceChain: z.array(z.string()),
});
export type LedgerRow = z.infer<typeof ledgerSchema>;
