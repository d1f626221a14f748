import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../docs/adr');

/** Returns docs/adr/README.md, the list of all decision records. */
export function decisionsPage(): string {
  const names = globSync('[0-9]*.md', { cwd: folder }).toSorted();
  const rows = names.map((name) => {
    const title = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(folder, name), 'utf8'));
    return `| ${title?.[1]} | [${title?.[2]}](${name}) |`;
  });
  return [
    '# Decisions',
    '',
    'Each record has the context of a decision, the decision, its consequences, and the alternatives. `npm run generate` writes this list.',
    '',
    '| number | decision |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}
