import { expect, it, onTestFinished } from 'vitest';
import { cotalOf } from '../support/cli.ts';
import { startInProcess } from '../support/delivery/daemon.ts';
import { startMesh } from '../support/mesh.ts';

const ARM = ['timer', 'arm', 'pause1', '--endpoint', 'flow', '--instance', 'i1', '--epoch', '1', '--json'];

it('cotal timer arms and lists, says when no writer has taken the request, and refuses bad input before it asks', async () => {
  const mesh = await startMesh();
  onTestFinished(() => mesh.dispose());
  const cotal = cotalOf(mesh);
  onTestFinished(() => cotal.dispose());
  for (const [words, code] of [
    [['--at', '2030-01-31T12:00:00'], 'timer.deadline'],
    [['--at', '3000-01-31T12:00:00Z'], 'timer.deadline'],
    [['--at', 'soon'], 'timer.deadline'],
    [['--in', '1', '--generation', '0'], 'number.positive'],
    [[], 'timer.when'],
  ] as const) {
    const refused = await cotal.run(...ARM, ...words);
    expect([refused.code, refused.last<{ error: { code: string } }>().error.code]).toEqual([64, code]);
  }
  const asked = await cotal.run(...ARM, '--at', '2200-01-31T12:00:00+01:00', '--wait', '0');
  expect(asked.last()).toEqual({
    timerId: 'pause1',
    generation: 1,
    deadline: Date.UTC(2200, 0, 31, 11),
    state: 'asked',
  });
  expect((await cotal.run('timer', 'list', '--json')).last()).toEqual({ timers: 0, waiting: 1 });
  const daemon = await startInProcess(mesh);
  onTestFinished(async () => void (await daemon.stop()));
  const fired = await cotal.run(...ARM.with(2, 'pause2'), '--in', '0', '--wait', '60000');
  expect(['armed', 'fired']).toContain(fired.last().state);
  const listed = (await cotal.run('timer', 'list', '--json')).json();
  expect(listed).toContainEqual({
    endpoint: 'flow',
    instance: 'i1',
    epoch: '1',
    timerId: 'pause1',
    state: 'armed',
    generation: 1,
    deadline: Date.UTC(2200, 0, 31, 11),
  });
  expect(listed.at(-1)).toMatchObject({ waiting: 0 });
});
