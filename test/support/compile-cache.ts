import { join } from 'node:path';

/** The folder in which the programs that tests start find their files compiled. */
export const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compiled');
