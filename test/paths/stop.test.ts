import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/stop.ts';

provesPaths('stop', samples);
