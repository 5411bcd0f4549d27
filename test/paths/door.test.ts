import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/door.ts';

provesPaths('door', samples);
