import { badInputOver } from './suite/bad-input.ts';
import { roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

/** Nobody looks for queued rows meanwhile: from one dump to the next only frames can change something. */
const bounds = { ...roomy, HOSTED_RETRY_MS: '60000' };
badInputOver('the in-process server', () => openInProcess({ bounds }));
badInputOver('the object on workerd', () => openWorkerd({ bounds }));
