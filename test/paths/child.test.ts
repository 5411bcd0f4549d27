import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/child.ts';

provesPaths('child', samples);
