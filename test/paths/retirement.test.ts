import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/retirement.ts';

provesPaths('retirement', samples);
