import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { containerLabFiles } from './container-lab/files.ts';

const folder = join(import.meta.dirname, '../examples/containerlab');
for (const [path, text] of containerLabFiles()) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  console.log(`examples/containerlab/${path}`);
}
