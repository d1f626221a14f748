import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('decision records are numbered from 1 without a gap, in file names and titles', () => {
  const folder = join(import.meta.dirname, '../../../docs/adr');
  const found = readdirSync(folder)
    .filter((name) => name !== 'README.md')
    .toSorted();
  const numbers = found.map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(found.map((_, index) => index + 1));
  const titles = found.map((name) => Number(/^# (\d+)\. /.exec(readFileSync(join(folder, name), 'utf8'))?.[1]));
  expect(titles).toEqual(numbers);
});
