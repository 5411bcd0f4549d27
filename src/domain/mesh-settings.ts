/**
 * What a mesh was made with, kept under its root, so that an option that is left out keeps what is there and never silently
 * goes back to a default (UPD-20). While the broker runs, an option that asks for something else is refused by name.
 */
import { z } from 'zod';

export const DEFAULT_PORT = 4222;
export const DEFAULT_HOST = '127.0.0.1';
/** `--port 0`: the broker takes a free one. */
export const FREE_PORT = 0;

const layoutSchema = z.object({
  replicas: z.int().min(1).max(5).exactOptional(),
  history: z.int().min(1).exactOptional(),
  quota: z.int().min(1).exactOptional(),
});

export const settingsSchema = z.object({
  version: z.literal(1),
  mode: z.enum(['auth', 'open']),
  host: z.string().min(1),
  port: z.int().min(0).max(65_535),
  durability: z.enum(['strict', 'relaxed']),
  tls: z.boolean(),
  spaces: z.record(z.string(), layoutSchema),
  /** Whether a space is to have a manager, by the last `up` that said so; none of it where no `up` has. */
  managers: z.record(z.string(), z.boolean()).exactOptional(),
});
export type MeshSettings = z.infer<typeof settingsSchema>;
export type SpaceLayout = z.infer<typeof layoutSchema>;

/** What `up` was asked for; what is left out is kept. */
export interface AskedSettings {
  readonly space: string;
  readonly open: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly durability?: MeshSettings['durability'];
  /** Only ever switched on. */
  readonly tls: boolean;
  readonly layout: SpaceLayout;
  /** Whether the space is to have a manager. */
  readonly manager?: boolean;
}

export type PlannedSettings =
  | { readonly kind: 'planned'; readonly settings: MeshSettings }
  | { readonly kind: 'mode'; readonly have: string; readonly wanted: string }
  | { readonly kind: 'otherwise'; readonly setting: string; readonly have: string; readonly wanted: string };

const NAMES = { auth: 'authenticated', open: 'open' } as const;

/** The settings for this `up`. `running`: the broker runs, with what is kept. */
export function planSettings(asked: AskedSettings, kept: MeshSettings | undefined, running: boolean): PlannedSettings {
  const mode = asked.open ? 'open' : (kept?.mode ?? 'auth');
  if (kept !== undefined && kept.mode !== mode) return { kind: 'mode', have: NAMES[kept.mode], wanted: NAMES[mode] };
  const settings: MeshSettings = {
    version: 1,
    mode,
    host: asked.host ?? kept?.host ?? DEFAULT_HOST,
    port: asked.port ?? kept?.port ?? DEFAULT_PORT,
    durability: asked.durability ?? kept?.durability ?? 'strict',
    tls: asked.tls || (kept?.tls ?? false),
    spaces: { ...kept?.spaces, [asked.space]: layoutOf(asked.layout, kept?.spaces[asked.space]) },
    ...managersOf(asked, kept),
  };
  if (running && kept !== undefined) {
    for (const setting of ['host', 'port', 'durability', 'tls'] as const) {
      const isFree = setting === 'port' && settings.port === FREE_PORT;
      if (settings[setting] === kept[setting] || isFree) continue;
      return { kind: 'otherwise', setting, have: String(kept[setting]), wanted: String(settings[setting]) };
    }
    return { kind: 'planned', settings: { ...settings, port: kept.port } };
  }
  return { kind: 'planned', settings };
}

const layoutOf = (asked: SpaceLayout, kept: SpaceLayout | undefined): SpaceLayout => ({
  ...kept,
  ...Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)),
});

function managersOf({ space, manager }: AskedSettings, kept: MeshSettings | undefined): Pick<MeshSettings, 'managers'> {
  if (manager !== undefined) return { managers: { ...kept?.managers, [space]: manager } };
  return kept?.managers === undefined ? {} : { managers: kept.managers };
}

/** Where clients on this machine reach a broker that listens on `host`. */
export const reachableHost = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? DEFAULT_HOST : host.includes(':') ? `[${host}]` : host;
