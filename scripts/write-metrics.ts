import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricsPage } from './metrics-page.ts';

/** Writes docs/reference/metrics.md from the table of metrics. */
writeFileSync(join(import.meta.dirname, '../docs/reference/metrics.md'), metricsPage());
