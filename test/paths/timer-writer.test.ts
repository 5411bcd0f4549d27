import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/timer-writer.ts';

provesPaths('timer-writer', samples);
