import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/renewal.ts';

provesPaths('renewal', samples);
