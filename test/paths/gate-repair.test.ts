import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/gate-repair.ts';

provesPaths('gate-repair', samples);
