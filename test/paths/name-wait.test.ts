import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/name-wait.ts';

provesPaths('name-wait', samples);
