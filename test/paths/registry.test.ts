import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/registry.ts';

provesPaths('registry', samples);
