import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventsPage } from './events-page.ts';

/** Writes docs/reference/events.md from the table of Events. */
writeFileSync(join(import.meta.dirname, '../docs/reference/events.md'), eventsPage());
