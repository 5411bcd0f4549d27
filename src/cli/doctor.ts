/** `cotal doctor`: the facts of status, judged: 1 when one is false or unknown. `--fix` repairs what can be repaired here. */
import { adviceFor } from '../launch/advice.ts';
import { factsOf } from '../launch/facts.ts';
import { repair } from '../launch/repair.ts';
import { type Define, examples } from './frame.ts';
import { askedOf, tellFacts } from './status.ts';

export const define: Define = (command, frame) => {
  command.option('--fix', 'clear stale records and make credentials anew that are past their use; starts nothing');
  command.action(
    frame.action(async (call, { fix }: { fix?: boolean }) => {
      const place = call.place();
      if (fix === true) for (const done of await repair(place)) call.out.remark(`• ${done}`);
      const facts = await factsOf(askedOf(place));
      tellFacts(call.out, facts);
      for (const advice of adviceFor(facts)) call.out.remark(`→ ${advice}`);
      return facts.every(({ ok }) => ok === true) ? 0 : 1;
    }),
  );
  examples(command, 'cotal doctor', 'cotal doctor --fix');
};
