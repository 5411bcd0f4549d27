import { linkOver } from './suite/link.ts';
import { roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

/** Nothing is reaped on a busy machine; a silent incumbent can be challenged soon. */
const bounds = { ...roomy, HOSTED_ATTACH_MS: '4000' };
linkOver('the in-process server', () => openInProcess({ bounds }));
linkOver('the object on workerd', () => openWorkerd({ bounds }));
