import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/membership.ts';

provesPaths('membership', samples);
