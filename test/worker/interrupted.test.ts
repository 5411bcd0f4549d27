import { interruptedOver, troubledOver } from './suite/interrupted.ts';
import { parkable, roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

interruptedOver('the in-process server', () => openInProcess({ bounds: parkable }));
interruptedOver('the object on workerd', () => openWorkerd({ bounds: parkable }));

/** Nothing is reaped here, and a silent incumbent can be challenged soon. */
const bounds = { ...roomy, HOSTED_ATTACH_MS: '4000' };
troubledOver('the in-process server', () => openInProcess({ bounds }));
troubledOver('the object on workerd', () => openWorkerd({ bounds }));
