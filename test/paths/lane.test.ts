import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/lane.ts';

provesPaths('lane', samples);
