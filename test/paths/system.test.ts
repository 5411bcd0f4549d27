import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/system.ts';

provesPaths('system', samples);
