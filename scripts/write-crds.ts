import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './objects/generated-files.ts';

/** Writes what the definitions of our kinds in src/model/kinds yield: CRDs, JSON schemas and the reference page. */
for (const [path, text] of generatedFiles()) {
  const file = join(import.meta.dirname, '..', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
