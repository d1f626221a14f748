import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { readonly homepage: string };

/** The address before the paths of documentation pages, as in https://herald.dev/docs/how-to/runbooks.md. */
export const { homepage } = manifest;
