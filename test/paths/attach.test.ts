import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/attach.ts';

provesPaths('attach', samples);
