import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBounded } from '../../../../src/sources/directory/read-file.ts';

test('a FIFO in the directory does not block reading', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-fifo-'));
  try {
    execFileSync('mkfifo', [join(folder, 'x.yaml')]);
    expect(await readBounded(join(folder, 'x.yaml'))).toEqual({ kind: 'gone' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
