import { badInputOver } from './suite/bad-input.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

badInputOver('the in-process server', () => openInProcess());
badInputOver('the object on workerd', () => openWorkerd());
