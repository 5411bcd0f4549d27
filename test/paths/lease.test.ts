import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/lease.ts';

provesPaths('lease', samples);
