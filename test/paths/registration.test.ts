import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/registration.ts';

provesPaths('registration', samples);
