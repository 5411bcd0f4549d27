import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/provider-link.ts';

provesPaths('provider-link', samples);
