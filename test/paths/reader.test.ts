import { provesPaths } from '../support/paths/prove.ts';
import { samples } from './samples/reader.ts';

provesPaths('reader', samples);
