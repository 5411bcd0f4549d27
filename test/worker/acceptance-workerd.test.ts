import { acceptanceOver } from './suite/register.ts';
import { openWorkerd } from './support/workerd-stage.ts';

acceptanceOver('the object on workerd', openWorkerd);
