import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/rails.ts';

provesPaths('rails', samples);
