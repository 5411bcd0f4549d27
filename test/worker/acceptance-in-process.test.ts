import { acceptanceOver } from './suite/register.ts';
import { openInProcess } from './support/in-process-stage.ts';

acceptanceOver('the in-process server', openInProcess);
