/** `cotal reconcile-gate`: the manager's gate repair, by hand. Refused, the gate stays frozen, and the exit code is 2. */
import { askManager } from './ask-manager.ts';
import type { ExitCode } from './failure.ts';
import { type Define, examples } from './frame.ts';

const GOOD: readonly string[] = ['repaired', 'completed', 'not-frozen', 'no-gate'];
const WORDS: Readonly<Record<string, string>> = {
  repaired: 'the gate was opened again; the next start of the manager registers',
  completed: 'the registration that had landed was completed',
  'not-frozen': 'the gate is open: there is nothing to repair',
  'no-gate': 'nothing was ever registered: there is nothing to repair',
};

export const define: Define = (command, frame) => {
  command.action(
    frame.action(async (call): Promise<ExitCode> => {
      const { out } = call;
      const outcome = (await out.waiting(
        'asking who froze the gate',
        askManager(call.place(), 'reconcileGate', {}),
      )) as { end: string; reason: string; holders: number; requests: number };
      const isGood = GOOD.includes(outcome.end);
      if (!isGood) out.remark(`✗ the gate stays frozen: ${outcome.end}: ${outcome.reason}`);
      out.answer(outcome, isGood ? `${out.paint('green', '✓')} ${WORDS[outcome.end]}` : `refused: ${outcome.end}`);
      return isGood ? 0 : 2;
    }),
  );
  examples(command, 'cotal reconcile-gate', 'cotal reconcile-gate --json');
};
