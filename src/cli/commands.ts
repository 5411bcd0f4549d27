/**
 * Every command, in the order of `cotal --help`. A command's file is loaded only when it is asked for. To add one: write its
 * file with `export const define: Define`, and a line here.
 */
import type { Define } from './frame.ts';

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load?: () => Promise<{ define: Define }>;
  /** Commands below this one: `agent add`. */
  readonly commands?: readonly CommandEntry[];
}

export const commands: readonly CommandEntry[] = [
  { name: 'up', summary: 'start the mesh: broker and delivery daemon', load: () => import('./up.ts') },
  { name: 'down', summary: 'stop the mesh, or one part of it', load: () => import('./down.ts') },
  { name: 'deliver', summary: 'the delivery daemon in the foreground', load: () => import('./deliver.ts') },
  { name: 'status', summary: 'what is true of the mesh now', load: () => import('./status.ts') },
  { name: 'doctor', summary: 'the same, judged; --fix repairs what it can', load: () => import('./doctor.ts') },
  {
    name: 'agent',
    summary: 'agents: their lifecycles, rights and credentials',
    commands: [
      { name: 'add', summary: 'add an agent and write its credential', load: () => import('./agent-add.ts') },
      {
        name: 'list',
        summary: 'list agents, their state and what they may read',
        load: () => import('./agent-list.ts'),
      },
    ],
  },
];
