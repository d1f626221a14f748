import { expect, test } from 'vitest';
import { RecordHealth } from '../../../../src/sources/directory/records/record-health.ts';
import type { Log } from '../../../../src/system/log.ts';
import { silentLog } from '../../../../src/system/log.ts';

function begin() {
  const lines: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (fields, message) => void lines.push(`warn ${message} ${JSON.stringify(fields)}`),
    info: (_, message) => void lines.push(`info ${message}`),
  };
  return { health: new RecordHealth(log), lines };
}

test.each([
  ['ENOSPC', 'no space is left', 'free space'],
  ['EROFS', 'the file system is read-only', 'read-write'],
  ['EACCES', 'permission denied', 'the right to write'],
])('%s is logged once with its fix, until all records are written', (code, problem, fix) => {
  const { health, lines } = begin();
  for (let attempt = 0; attempt < 5; attempt++) for (const file of ['a.yaml', 'b.yaml']) health.failed(file, code);
  expect(health.problem()).toBe(`${problem}: 2 records wait to be written, such as a.yaml`);
  health.written('a.yaml');
  health.written('other.yaml');
  expect([health.waiting, lines.length]).toEqual([1, 1]);
  health.written('b.yaml');
  expect(health.problem()).toBeUndefined();
  expect(lines).toEqual([expect.stringContaining(fix), 'info all records are written again']);
});
