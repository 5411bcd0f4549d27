import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/manager.ts';

provesPaths('manager', samples);
