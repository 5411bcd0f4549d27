import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/eviction.ts';

provesPaths('eviction', samples);
