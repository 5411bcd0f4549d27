import { interruptedTogetherOver } from './suite/interrupted.ts';
import { openKillable } from './support/killable-stage.ts';

interruptedTogetherOver('workerd killed with SIGKILL', openKillable);
