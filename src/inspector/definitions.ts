/** The charts of the catalogue as Stately draws them: the definition as JSON, names in place of code. */
import { catalogue } from '../machines/catalogue.ts';

const drawn = new Map<string, string>();

/** Undefined for what is no machine of the catalogue. */
export function machineDefinitions(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const known = drawn.get(name);
  if (known !== undefined) return known;
  const entry = catalogue.find((each) => each.name === name);
  if (entry === undefined) return undefined;
  const text = JSON.stringify(entry.machine.config, (_field, value: unknown) =>
    typeof value === 'function' ? undefined : value,
  );
  drawn.set(name, text);
  return text;
}
