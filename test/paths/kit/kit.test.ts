import { describe, expect, it } from 'vitest';
import { type AnyEventObject, type AnyStateMachine, assign, createMachine } from 'xstate';
import {
  broken,
  deadEnds,
  deaths,
  faultsOf,
  hidden,
  misnamed,
  unfinished,
  unhappy,
  unreached,
  unsampled,
} from '../../support/paths/checks.ts';
import { PathClock } from '../../support/paths/clock.ts';
import { explore } from '../../support/paths/explore.ts';
import { goldenTable } from '../../support/paths/golden.ts';
import { judge } from '../../support/paths/judge.ts';
import { differences, routesOver } from '../../support/paths/live.ts';
import { mutantsOf } from '../../support/paths/mutants.ts';
import { notJson, unrestorable, unsaveable } from '../../support/paths/restore.ts';
import type { AnySamples } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';
import { switchboardMachine } from './switchboard.machine.ts';
import { samples } from './switchboard.samples.ts';

type Config = { states: Record<string, Record<string, unknown>> } & Record<string, unknown>;

/** The switchboard with something changed in its chart. */
function changed(change: (config: Config) => void): AnyStateMachine {
  const { states, ...rest } = switchboardMachine.config as unknown as Config;
  const copies = Object.entries(states).map(([key, state]) => [key, { ...state, on: { ...(state.on ?? {}) } }]);
  const config = { ...rest, states: Object.fromEntries(copies) } as Config;
  change(config);
  return createMachine(config as never, switchboardMachine.implementations as never) as unknown as AnyStateMachine;
}

const stateOf = (config: Config, name: string): Record<string, unknown> & { on: Record<string, unknown> } => {
  const state = config.states[name];
  if (state === undefined) throw new Error(`no state ${name}`);
  return state as Record<string, unknown> & { on: Record<string, unknown> };
};

const only = (faults: readonly string[]) => faults.join('\n');
const promise = (when: boolean, verdict: true | string) => ({
  clause: 'X1',
  says: 'as it should be',
  when: () => when,
  holds: () => verdict,
});

describe('the kit, over a machine that spawns, waits, counts and looks up peers', () => {
  const whole = explore(switchboardMachine, samples);

  it('finds nothing wrong with what is right', () => {
    expect(only([...unsampled(whole), ...misnamed(whole), ...unhappy(whole), ...faultsOf(whole)])).toBe('');
  });

  it('does as a live actor what was calculated: spawned children, a peer replaced under its name, stopped siblings', () => {
    const routes = routesOver(whole);
    expect(only(routes.flatMap((route) => differences(whole, route)))).toBe('');
    const fired = new Set(routes.flatMap(({ shots }) => shots.map(({ label }) => label)));
    for (const label of ['operator.relieved', 'line.a fails', 'after patience in Dialing', 'dial fails']) {
      expect(fired).toContain(label);
    }
  });

  it('saves and restores a snapshot with its children twice', () => {
    expect(only([...notJson(whole), ...unsaveable(whole)])).toBe('');
  });

  it('kills every mutant, or names the survivor', () => {
    const golden = goldenTable('switchboard', whole);
    const verdicts = mutantsOf(switchboardMachine, {}).map((mutant) => judge(mutant, samples, golden));
    expect(verdicts.length).toBeGreaterThan(50);
    expect(verdicts.filter(({ fate }) => fate === 'survived').map(({ mutant }) => mutant)).toEqual([]);
  });
});

describe('the kit convicts', () => {
  const faults = (machine: AnyStateMachine, check: (e: ReturnType<typeof explore>) => string[], given = samples) =>
    only(check(explore(machine, given)));

  it('an event without a sample', () => {
    const events = samples.events.filter((sample) => (sample as AnyEventObject).type !== 'trunk.down');
    expect(faults(switchboardMachine, unsampled, { ...samples, events })).toBe('no sample for trunk.down');
  });

  it('an answer that is never given, and answers of a child that is not there', () => {
    expect(faults(switchboardMachine, unsampled, { ...samples, answers: { dail: [{ type: 'trunk.up' }] } })).toBe(
      [
        'no sample for trunk.refused',
        'no sample for done dial',
        'the samples let "dail" answer, which is no child of the machine',
      ].join('\n'),
    );
  });

  it('an invoke without id and without onError', () => {
    const machine = changed((config) => {
      stateOf(config, 'Open').invoke = { src: 'listen' };
    });
    expect(faults(machine, unsampled)).toContain('has no id of its own');
    expect(faults(machine, unsampled)).toContain('has no onError');
  });

  it('a state that is never reached and a transition that is never taken', () => {
    const machine = changed((config) => {
      config.states.Lost = { on: { 'trunk.up': 'Open' } };
    });
    expect(faults(machine, unreached)).toBe('the state Lost is never reached\nnever taken: Lost on trunk.up → Open');
  });

  it('an eventless transition that is never taken (PTH-02)', () => {
    const machine = changed((config) => {
      stateOf(config, 'Refused').always = [{ guard: 'isExhausted', target: 'GivenUp' }, 'Pausing', 'Dialing'];
    });
    expect(faults(machine, unreached)).toBe('never taken: Refused on always #3 → Dialing');
  });

  it('an excuse for what is taken all the same, and one for nothing', () => {
    const untaken = { 'Dialing on trunk.up → Open': 'why not', 'Dialing on nothing → Open': 'why not' };
    expect(faults(switchboardMachine, unreached, { ...samples, untaken })).toContain('taken, though the samples say');
    expect(faults(switchboardMachine, misnamed, { ...samples, untaken })).toContain('"Dialing on nothing → Open"');
  });

  it('a dead end, and a state that waits for nobody', () => {
    const machine = changed((config) => {
      stateOf(config, 'Pausing').after = { pause: 'Stuck' };
      stateOf(config, 'Pausing').on = {};
      config.states.Stuck = {};
    });
    const found = faults(machine, deadEnds);
    expect(found).toContain('a dead end: Stuck');
    expect(found).toContain('a dead end: Pausing');
    expect(found).toContain('Stuck waits with no effect and no timer');
  });

  it('a state whose only effect has ended without moving it', () => {
    const machine = changed((config) => {
      const dialing = stateOf(config, 'Dialing');
      dialing.after = {};
      delete dialing.on['trunk.refused'];
    });
    expect(faults(machine, deadEnds)).toContain('Dialing waits with no effect and no timer');
  });

  it('a promise that is broken, with the edge, and one that is never exercised', () => {
    const machine = switchboardMachine;
    expect(faults(machine, (e) => broken(e, promise(true, 'it is not')))).toContain(
      'X1 as it should be: it is not\n    at [empty]',
    );
    expect(faults(machine, (e) => broken(e, promise(false, true)))).toBe('X1 as it should be: never exercised');
    expect(faults(machine, (e) => broken(e, promise(true, true)))).toBe('');
  });

  it('a promise about a state that does not exist', () => {
    const holds = ({ after }: Step<never>) => after.is('Nowhere') || 'elsewhere';
    const about = { ...promise(true, true), holds };
    expect(() => faults(switchboardMachine, (e) => broken(e, about))).toThrow('no state "Nowhere"');
  });

  it('a machine that a late failure ends, and says what to do', () => {
    const machine = changed((config) => {
      config.on = {};
    });
    expect(faults(machine, deaths)).toContain('spread `deafToLateFailures`');
  });

  it('a failure of a spawned child that nobody answers', () => {
    const machine = changed((config) => {
      delete stateOf(config, 'Open').on['xstate.error.actor.line.*'];
    });
    expect(faults(machine, deaths)).toContain('a failure is not answered');
  });

  it('a context that grows for ever: the limit is hit, and that fails (PTH-03)', () => {
    const machine = changed((config) => {
      stateOf(config, 'Refused').always = 'Pausing';
    });
    const endless = { ...samples, limit: 3_000, clamp: ({ refusals }: { refusals: number }) => ({ refusals }) };
    expect(faults(machine, unfinished, endless as unknown as AnySamples)).toContain('the limit was hit');
    expect(explore(machine, endless as unknown as AnySamples).limitHit).toBe(true);
  });

  it('a clamp that hides what a guard reads', () => {
    expect(faults(switchboardMachine, hidden)).toBe('');
    const blind = { ...samples, clamp: ({ callers }: { callers: string[] }) => ({ callers: [...callers].sort() }) };
    expect(faults(switchboardMachine, hidden, blind as unknown as AnySamples)).toContain('the clamp hides');
  });

  it('a machine that is not pure: the live actor does otherwise', () => {
    let calls = 0;
    const machine = switchboardMachine.provide({
      actions: {
        countRefusal: assign(() => {
          calls += 1;
          return { refusals: calls };
        }),
      },
    });
    const impure = explore(machine, samples);
    expect(only(routesOver(impure).flatMap((route) => differences(impure, route)))).toContain('context after');
  });

  it('a happy path that cannot be walked', () => {
    expect(faults(switchboardMachine, unhappy, { ...samples, happy: ['Dialing', 'GivenUp'] })).toBe('');
    expect(faults(switchboardMachine, unhappy, { ...samples, happy: ['Dialing', 'Stopped', 'Open'] })).toContain(
      'from Stopped to Open, but no step does',
    );
  });

  it('a restorable machine with timers or eventless transitions (PTH-01)', () => {
    expect(faults(switchboardMachine, unrestorable)).toContain('the timer pause of switchboard.Pausing');
    expect(faults(switchboardMachine, unrestorable)).toContain('switchboard.Refused has `always`');
  });

  it('a context that JSON would lose', () => {
    const machine = changed((config) => {
      config.context = { callers: [], refusals: 0, since: new Date(0) };
    });
    expect(faults(machine, notJson)).toContain('the context is not JSON at context.since');
  });

  it('a table that is not the golden one any more, whatever small thing changed', () => {
    const golden = goldenTable('switchboard', explore(switchboardMachine, samples));
    const machine = changed((config) => {
      stateOf(config, 'Pausing').on = {};
    });
    expect(goldenTable('switchboard', explore(machine, samples))).not.toBe(golden);
  });
});

describe('the clock of the live runs', () => {
  it('lets a timer overtake an earlier one, and leaves that one armed', () => {
    const clock = new PathClock();
    const elapsed: string[] = [];
    clock.setTimeout(() => elapsed.push('early'), 10);
    clock.setTimeout(() => elapsed.push('late'), 20);
    expect(() => clock.elapse('xstate.after.none.x')).toThrow('no timer is armed for xstate.after.none.x');
    clock.increment(10);
    expect(elapsed).toEqual(['early']);
    expect(clock.armed()).toHaveLength(1);
  });
});
