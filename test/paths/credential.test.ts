import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/credential.ts';

provesPaths('credential', samples);
