import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

function demo(...options: readonly string[]): { status: number | null; lines: readonly string[] } {
  const { status, stdout } = spawnSync(process.execPath, ['test/lab/demo/main.ts', ...options], {
    cwd: root,
    encoding: 'utf8',
    timeout: 290_000,
  });
  return { status, lines: stdout.trimEnd().split('\n') };
}

test('the demo passes every check in its JSON output and leaves no namespace', () => {
  const { status, lines } = demo('--json');
  const events = lines.map(
    (line) => JSON.parse(line) as { kind: string; passed?: number; failed?: number; holds?: boolean; name?: string },
  );
  expect(events.filter(({ kind, holds }) => kind === 'check' && holds !== true)).toEqual([]);
  expect(events.at(-1)).toMatchObject({ kind: 'result', failed: 0 });
  expect(events.at(-1)?.passed).toBeGreaterThanOrEqual(27);
  expect(status).toBe(0);
});

test('--keep leaves the lab running, and the printed command takes it down', () => {
  const { status, lines } = demo('--keep');
  expect(lines.at(-1)).toMatch(/^demo: \d+ checks passed, 0 failed$/);
  expect(status).toBe(0);
  const id = lines.map((line) => /node test\/lab\/sweep\.ts (hl\w+)/.exec(line)?.[1]).find((found) => found !== undefined) ?? '';
  expect(existsSync(`/run/netns/${id}-tor1`)).toBe(true);
  const { stdout } = spawnSync(process.execPath, ['test/lab/sweep.ts', id], { cwd: root, encoding: 'utf8', timeout: 60_000 });
  expect(stdout).toBe(`took down ${id}\n`);
  expect(existsSync(`/run/netns/${id}-tor1`)).toBe(false);
});
