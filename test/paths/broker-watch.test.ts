import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/broker-watch.ts';

provesPaths('broker-watch', samples);
