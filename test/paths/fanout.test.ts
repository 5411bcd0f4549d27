import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/fanout.ts';

provesPaths('fanout', samples);
