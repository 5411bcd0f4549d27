/** Whether the machine's registry has this mesh: agents' commands, and daemons that are started by hand, go by it. */
import { describeError } from '../domain/errors/catalogue.ts';
import { findMesh } from '../services/local/mesh-registry.ts';
import { realFolder } from '../services/local/processes.ts';
import { type Fact, fact } from './fact.ts';

const NAME = 'mesh.record';

/** `address`: where the record says that the broker is, where it says anything. */
export function recordFact(of: { root: string; space: string; isUp: boolean }): { fact: Fact; address?: string } {
  try {
    const record = findMesh({ space: of.space });
    if (record === undefined) {
      return { fact: fact(NAME, of.isUp ? false : null, null, 'this machine has no record of the mesh') };
    }
    const { url, root } = record;
    if (realFolder(root) !== realFolder(of.root)) {
      return { fact: fact(NAME, false, { root }, `the record of space ${of.space} is of the root ${root}`) };
    }
    return { fact: fact(NAME, true, { url }, `recorded at ${url}`), address: url };
  } catch (error) {
    return { fact: fact(NAME, false, null, describeError(error).message) };
  }
}
