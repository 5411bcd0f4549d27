/** The journal of a command that stays. COTAL_LOG_LEVEL sets the structured records: debug, info, warn (default), error, silent. */
import { type JournalOptions, openJournal } from '../services/log.ts';
import type { Journal } from '../services/ports.ts';
import { oneOf } from './flags.ts';

const level = oneOf('COTAL_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent']);

/** `file`: gets every operator line too. */
export function journalOf(name: string, file?: string): Journal {
  const asked: JournalOptions['level'] = level(process.env.COTAL_LOG_LEVEL ?? 'silent');
  return openJournal({ process: name, level: asked, ...(file === undefined ? {} : { file }) });
}
