import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/durable-membership.ts';

provesPaths('durable-membership', samples);
