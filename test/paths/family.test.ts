import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/family.ts';

provesPaths('family', samples);
