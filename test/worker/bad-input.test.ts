import { badInputOver } from './suite/bad-input.ts';
import { roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

badInputOver('the in-process server', () => openInProcess({ bounds: roomy }));
badInputOver('the object on workerd', () => openWorkerd({ bounds: roomy }));
