/** The resolver of this process, which does not know one name as long as a test says so. Other names go to the system's. */
import dns, { type LookupOptions } from 'node:dns';
import { onTestFinished, vi } from 'vitest';

export interface OneName {
  /** How often it was asked for. */
  asked(): number;
}

type Answer = (error: Error | null, address?: unknown, family?: number) => void;

/** @param knows Asked at each look-up: whether the name has an address now, which is this machine's. */
export function resolving(name: string, knows: () => boolean, code = 'EAI_AGAIN'): OneName {
  const system = dns.lookup as unknown as (...of: unknown[]) => void;
  let asked = 0;
  const stub = (host: string, ...rest: unknown[]): void => {
    if (host !== name) return system(host, ...rest);
    asked += 1;
    const answer = rest.at(-1) as Answer;
    const { all } = typeof rest[0] === 'object' ? (rest[0] as LookupOptions) : {};
    const error = Object.assign(new Error(`getaddrinfo ${code} ${host}`), {
      code,
      syscall: 'getaddrinfo',
      hostname: host,
    });
    const isKnown = knows();
    setImmediate(() => {
      if (!isKnown) answer(error);
      else if (all === true) answer(null, [{ address: '127.0.0.1', family: 4 }]);
      else answer(null, '127.0.0.1', 4);
    });
  };
  const planted = vi.spyOn(dns, 'lookup').mockImplementation(stub as unknown as typeof dns.lookup);
  onTestFinished(() => planted.mockRestore());
  return { asked: () => asked };
}
