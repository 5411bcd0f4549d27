import { z } from 'zod';
import { principalSchema, uidSchema } from './names.ts';

/** Rows of the auth bucket: who has which lifecycle, whether its gate is open, which credentials it was given. */

export const uidKey = (uid: string): string => `uid.${uid}`;
export const headKey = (principal: string): string => `lifecycle.${principal}`;
export const gateKey = (uid: string): string => `gate.${uid}`;
export const endpointGateKey = (endpoint: string, instance: string): string => `epgate.${endpoint}.${instance}`;
export const endpointLedgerKey = (endpoint: string, instance: string, credentialId: string): string =>
  `epcred.${endpoint}.${instance}.${credentialId}`;
/** **Ours**: the last registration of an endpoint's instance that was committed. */
export const registrationKey = (endpoint: string, instance: string): string => `epreg.${endpoint}.${instance}`;
export const ledgerKey = (uid: string, credentialId: string): string => `cred.${uid}.${credentialId}`;

/** A uid that was taken: never deleted, so that it is never used again. */

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

export const registrationSchema = z.looseObject({
  /** Operation that committed it: whoever lost the answer to its write knows by this that it landed. */
  opId: z.string().min(1),
  processEpoch: z.int().min(1),
  incarnation: z.string().min(1),
  committedAt: z.number(),
});

/** The gate frozen for an operation; its coordinates stay. `principal`: who holds the operation. */
export const frozenGate = (
  gate: Pick<Gate, 'generation' | 'processEpoch'>,
  by: { principal: string; op: z.infer<typeof gateOperationSchema> },
): Gate => ({ ...coordinatesOf(gate), state: 'frozen', principal: by.principal, op: by.op });

/** The gate open again, a generation later. `settled`: the operation that ended, so that a lost answer can be read back. */
export const reopenedGate = (
  gate: Pick<Gate, 'generation' | 'processEpoch' | 'principal'>,
  by: { opId: string; processEpoch?: number | undefined },
): Gate => {
  const processEpoch = by.processEpoch ?? gate.processEpoch;
  return {
    state: 'open',
    generation: gate.generation + 1,
    ...(processEpoch === undefined ? {} : { processEpoch }),
    ...(gate.principal === undefined ? {} : { principal: gate.principal }),
    settled: by.opId,
  };
};

const coordinatesOf = ({ generation, processEpoch }: Pick<Gate, 'generation' | 'processEpoch'>) => ({
  generation,
  ...(processEpoch === undefined ? {} : { processEpoch }),
});
