import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartFiles } from './chart-files.ts';

const chart = join(import.meta.dirname, '../manifests/chart');
for (const [path, text] of chartFiles()) {
  mkdirSync(dirname(join(chart, path)), { recursive: true });
  writeFileSync(join(chart, path), text);
  console.log(`manifests/chart/${path}`);
}
