import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/rail-wait.ts';

provesPaths('rail-wait', samples);
