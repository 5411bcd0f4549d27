import { interruptedOver } from './suite/interrupted.ts';
import { openKillable } from './support/killable-stage.ts';

interruptedOver('workerd killed with SIGKILL', openKillable);
