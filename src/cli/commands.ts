/**
 * Every command, in the order of `cotal --help`. A command's file is loaded only when it is asked for. To add one: write its
 * file with `export const define: Define`, and a line here.
 */
import type { CommandEntry } from './frame.ts';

export const commands: readonly CommandEntry[] = [
  { name: 'up', summary: 'start the mesh: broker, delivery daemon and manager', load: () => import('./up.ts') },
  { name: 'down', summary: 'stop the mesh, or one part of it', load: () => import('./down.ts') },
  { name: 'deliver', summary: 'the delivery daemon in the foreground', load: () => import('./deliver.ts') },
  { name: 'manager', summary: 'the manager in the foreground', load: () => import('./manager.ts') },
  { name: 'status', summary: 'what is true of the mesh now', load: () => import('./status.ts') },
  { name: 'doctor', summary: 'the same, judged; --fix repairs what it can', load: () => import('./doctor.ts') },
  {
    name: 'agent',
    summary: 'agents: their lifecycles, rights and credentials',
    commands: [
      { name: 'add', summary: 'add an agent and write its credential', load: () => import('./agent-add.ts') },
      { name: 'grant', summary: 'change what an agent may read and post to', load: () => import('./agent-grant.ts') },
      { name: 'retire', summary: 'end the lifecycle of an agent for good', load: () => import('./agent-retire.ts') },
      {
        name: 'list',
        summary: 'list agents, their state and what they may read',
        load: () => import('./agent-list.ts'),
      },
    ],
  },
  {
    name: 'channel',
    summary: 'channels: their class, their posts',
    commands: [
      { name: 'set', summary: 'make a channel durable or live', load: () => import('./channel-set.ts') },
      { name: 'list', summary: 'list channels and their class', load: () => import('./channel-list.ts') },
      { name: 'history', summary: 'print the newest posts of a channel', load: () => import('./channel-history.ts') },
    ],
  },
  {
    name: 'join',
    summary: 'join a channel: live, and durable where the daemon grants it',
    load: () => import('./join.ts'),
  },
  { name: 'leave', summary: 'leave a channel; what was owed of it is dropped', load: () => import('./leave.ts') },
  {
    name: 'members',
    summary: 'who is a durable member of a channel, and who is only live',
    load: () => import('./members.ts'),
  },
  { name: 'post', summary: 'post to a channel', load: () => import('./post.ts') },
  { name: 'inbox', summary: 'read what is owed to an agent, and confirm it', load: () => import('./inbox.ts') },
  { name: 'inspect', summary: 'watch the machines of a running process', load: () => import('./inspect.ts') },
  {
    name: 'timer',
    summary: 'checkpoint timers of workflows',
    commands: [
      { name: 'arm', summary: 'ask for a timer, and say whether it is armed', load: () => import('./timer-arm.ts') },
      { name: 'list', summary: 'what is armed, what has fired, what waits', load: () => import('./timer-list.ts') },
    ],
  },
  {
    name: 'replay',
    summary: "a recorded history through today's machines: where would they act otherwise",
    load: () => import('./replay.ts'),
  },
  { name: 'pending', summary: 'what is owed to whom, without content', load: () => import('./pending.ts') },
  {
    name: 'reconcile-gate',
    summary: 'open a registration gate that a dead manager left frozen',
    load: () => import('./reconcile-gate.ts'),
  },
  {
    name: 'provider',
    summary: 'a link to a hosted node: what comes there is owed here',
    load: () => import('./provider.ts'),
  },
  {
    name: 'hosted',
    summary: 'the provider plane: serve it, or run its worker locally',
    commands: [
      { name: 'serve', summary: 'the provider plane in this process', load: () => import('./hosted-serve.ts') },
      { name: 'dev', summary: 'the worker on local workerd', load: () => import('./hosted-dev.ts') },
      {
        name: 'workspace',
        summary: 'workspaces of a hosted plane',
        commands: [
          {
            name: 'add',
            summary: 'make a workspace and show its key, once',
            load: () => import('./hosted-workspace-add.ts'),
          },
        ],
      },
    ],
  },
  {
    name: 'completion',
    summary: 'completions for bash, zsh and fish',
    load: () => import('./completion.ts'),
  },
  {
    name: 'repair',
    summary: 'repairs that a person runs, step by step',
    commands: [
      {
        name: 'default-provider',
        summary: 'agents that were stamped "default" get their provider back',
        load: () => import('./repair-default-provider.ts'),
      },
    ],
  },
  {
    name: 'torture',
    summary: 'a fault run on a mesh of its own, with a verdict',
    load: () => import('./torture.ts'),
  },
];
