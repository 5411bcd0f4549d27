import { defineErrors } from './define.ts';

/** Refusals of the command line itself. */
export const cliErrors = defineErrors({
  'cli.usage': {
    kind: 'refuse',
    exit: 64,
    template: '{command}: {reason}',
    help: 'Nothing was done. "{command} --help" shows what it takes.',
  },
  'flag.word': {
    kind: 'refuse',
    exit: 64,
    template: '{name} is "{input}", not one of {words}',
    help: 'Nothing was changed.',
  },
  'deliver.shard': {
    kind: 'refuse',
    exit: 64,
    template: '--shard is "{input}", and one daemon serves a space: only 0 is taken',
    help: 'Nothing was dialled. A space grows by its broker cluster (cotal up --replicas 3), and by --standby beside the daemon.',
  },
  'torture.script': {
    kind: 'refuse',
    template: 'script {path} cannot be lived through: {reason}',
    help: 'Nothing was started. A failed run of "cotal torture" says where it wrote its script.',
  },
  'place.root': {
    kind: 'refuse',
    template: '--root {directory} has no .cotal',
    help: 'Nothing was read and nothing was dialled. Run "cotal up" on that root first, or name another one.',
  },
  'place.other-root': {
    kind: 'refuse',
    template: 'the mesh recorded for space {space} on this machine is that of {recorded}, not of {root}',
    help: 'Nothing was dialled. Name that root with --root, or start this one with "cotal up".',
  },
  'mesh.open': {
    kind: 'refuse',
    template: 'the mesh of space {space} is open: it is live-only, without accounts, registry or daemon',
    help: 'Nothing was done. Anybody may join and post there under any name; "cotal up" without --open makes a durable mesh.',
  },
  'place.other-account': {
    kind: 'refuse',
    template: 'credential {path} is one of account {account}, but space {space} is account {recorded}',
    help: 'Nothing was dialled. Add the agent on this mesh with "cotal agent add", or name the --root it belongs to.',
  },
  'agent.no-credential': {
    kind: 'refuse',
    template: 'there is no credential of agent {name} in {path}',
    help: 'Nothing was dialled. Add the agent with "cotal agent add {name}", or name the --root and --space that have it.',
  },
});
