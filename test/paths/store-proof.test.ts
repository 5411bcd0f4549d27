import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/store-proof.ts';

provesPaths('store-proof', samples);
