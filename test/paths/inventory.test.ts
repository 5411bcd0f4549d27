import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/inventory.ts';

provesPaths('inventory', samples);
