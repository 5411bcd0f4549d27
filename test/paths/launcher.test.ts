import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/launcher.ts';

provesPaths('launcher', samples);
