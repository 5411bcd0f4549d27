/** What to do about a fact that is false: one line each, what comes first first. What is unknown mostly waits for another. */
import type { Fact } from './fact.ts';

const ADVICE: readonly [name: RegExp, advice: string][] = [
  [/^broker\.process$/, 'start the mesh with "cotal up"'],
  [
    /^broker\.answers$/,
    'look into the log of the broker under .cotal/broker; "cotal down" and "cotal up" start it anew',
  ],
  [/^broker\.durability$/, 'this root has never been up: "cotal up" makes the mesh'],
  [
    /^mesh\.record$/,
    'move the record under meshes/ away where it is not right, and run "cotal up", which writes it anew and starts only what is missing',
  ],
  [/^store\.space$/, 'free space on the disk of .cotal/broker/store'],
  [
    /^store\.writes$/,
    'a stream that met a full disk stays stopped until the broker is started again: when there is room, "cotal down" and "cotal up --detach"',
  ],
  [
    /^store\.layout$/,
    'what is missing is made by "cotal up"; what differs is never changed by itself: bring the option back, or begin a new root',
  ],
  [/^credential\./, '"cotal doctor --fix" makes credentials anew that are past their use'],
  [/^delivery\.process$/, 'start the daemon with "cotal up"; why the last one ended is in .cotal/delivery.<key>.log'],
  [/^delivery\.(lease|responder|rail)$/, 'the daemon does not serve (yet): its reason is in .cotal/delivery.<key>.log'],
  [
    /^manager\.process$/,
    'start the manager with "cotal up", or say that there is to be none with "cotal up --no-manager"; why the last one ended is in .cotal/manager.<key>.log',
  ],
  [/^manager\.(lease|rail)$/, 'the manager does not serve (yet): its reason is in .cotal/manager.<key>.log'],
  [
    /^delivery\.shortfall$/,
    'let those members confirm what they are owed ("cotal inbox"), or make the store with a larger --quota; what was not copied is in "cotal channel history" as long as it is kept',
  ],
  [
    /^delivery\.discarded$/,
    'the daemon was away for longer than --history bounds: make the next store with a larger one; those posts are gone, live subscribers had them',
  ],
];

/** Each advice once. Of facts that could not be asked nothing is said where one that is false says why. */
export function adviceFor(facts: readonly Fact[]): string[] {
  const isFalse = facts.some(({ ok }) => ok === false);
  const wrong = facts.filter(({ ok }) => (isFalse ? ok === false : ok === null));
  return ADVICE.filter(([name]) => wrong.some((each) => name.test(each.name))).map(([, advice]) => advice);
}
