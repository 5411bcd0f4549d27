/** A store that an embedder gives, in memory. */
import type { WritableStore } from '../../../src/services/ports.ts';

export function injectedStore(coordinate: string, texts: Record<string, string> = {}): WritableStore {
  const kept = new Map(Object.entries(texts));
  return {
    identity: () => ({ kind: 'injected', coordinate }),
    read: async (name) => kept.get(name),
    write: async (name, text) => {
      kept.set(name, text);
    },
  };
}
