import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/reference/limits.md'), 'utf8');
const files = sourceFiles('{src,providers}', 'limits.ts');

/** Returns the rows of the chapter about one limits.ts: name to the rest of the row. */
function rowsOf(file: string): Map<string, string> {
  const [, chapter = ''] = page.split(`(\`${file}\`)`);
  const [table = ''] = chapter.split('\n## ');
  return new Map([...table.matchAll(/^\| `(\w+)` \| (.*)$/gm)].map(([, name = '', rest = '']) => [name, rest]));
}

/** Returns the names and values that a limits.ts exports. An exported object `limits` is taken apart. */
async function limitsOf(file: string): Promise<Record<string, unknown>> {
  const { limits, ...others } = (await import(join(root, file))) as Record<string, unknown>;
  return { ...(limits as Record<string, unknown> | undefined), ...others };
}

/** Returns the ways to write a value on the page: "8 MiB", "60 s". */
function writings(value: number): string[] {
  return [`${value}`, `${value / 1000} s`, `${value / 1024 / 1024} MiB`];
}

test('the search finds limits', () => {
  expect(files.length).toBeGreaterThan(4);
});

test.each(files)('docs/reference/limits.md has every limit of %s with its value and no other', async (file) => {
  const [limits, rows] = [await limitsOf(file), rowsOf(file)];
  expect([...rows.keys()].toSorted()).toEqual(Object.keys(limits).toSorted());
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value !== 'number') continue;
    const [written = ''] = (rows.get(name) ?? '').split(' |');
    expect(
      writings(value).some((text) => written === text || written.startsWith(`${text} `)),
      `${name}: ${written} is not ${value}`,
    ).toBe(true);
  }
});
