import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/reaper.ts';

provesPaths('reaper', samples);
