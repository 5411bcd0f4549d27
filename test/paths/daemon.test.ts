import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/daemon.ts';

provesPaths('daemon', samples);
