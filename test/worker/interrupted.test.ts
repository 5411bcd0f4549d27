import { interruptedOver, troubledOver } from './suite/interrupted.ts';
import { roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

interruptedOver('the in-process server', () => openInProcess());
interruptedOver('the object on workerd', () => openWorkerd());

/** Nothing is reaped here, a silent incumbent can be challenged, and the database is given up on early. */
const bounds = { ...roomy, HOSTED_ATTACH_MS: '2000', HOSTED_STORAGE_MS: '1000' };
troubledOver('the in-process server', () => openInProcess({ bounds }));
troubledOver('the object on workerd', () => openWorkerd({ bounds }));
