import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/brokerWatch.ts';

provesPaths('brokerWatch', samples);
