import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/provider-socket.ts';

provesPaths('provider-socket', samples);
