import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/repair-run.ts';

provesPaths('repair-run', samples);
