import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboard } from './dashboard.ts';

/** Writes manifests/monitoring/dashboard.json. */
writeFileSync(join(import.meta.dirname, '../manifests/monitoring/dashboard.json'), dashboard());
