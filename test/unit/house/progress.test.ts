import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const directory = mkdtempSync(join(tmpdir(), 'herald-progress-'));
afterAll(() => rmSync(directory, { recursive: true }));

const lead = `set -eu; say() { printf 'setup: %s\\n' "$*"; }; . ${root}/scripts/progress.sh;`;

test('a set-up prints the step, the seconds and the last line of its log while the step runs', async () => {
  const log = join(directory, 'log');
  writeFileSync(log, 'Get:1 first\nGet:2 second\n');
  const child = spawn('sh', ['-c', `${lead} start_progress 'installing 3 packages' ${log}; read -r _; stop_progress; say done`], {
    env: { ...process.env, HERALD_PROGRESS_SECONDS: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === 2) child.stdin.end('\n');
  }
  if (child.exitCode === null) await once(child, 'exit');
  expect(lines.slice(0, 2)).toEqual([
    'setup: installing 3 packages: 1 s (Get:2 second)',
    'setup: installing 3 packages: 2 s (Get:2 second)',
  ]);
  expect(lines.at(-1)).toBe('setup: done');
});

test('a step that ends at once prints no progress', async () => {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${lead} start_progress 'a step'; stop_progress; say done`]);
  expect(stdout).toBe('setup: done\n');
});

test('a step that ends at once is waited for, although the set-up handles SIGTERM', async () => {
  const steps = `${lead} trap 'exit 143' TERM; n=0; while [ $n -lt 300 ]; do start_progress 'a step'; stop_progress; n=$((n + 1)); done; say done`;
  const { stdout } = await promisify(execFile)('sh', ['-c', steps], { timeout: 60_000 });
  expect(stdout).toBe('setup: done\n');
});

test('progress ends when the set-up is killed', async () => {
  const child = spawn('sh', ['-c', `${lead} start_progress 'a step'; say $ticker; read -r _`], {
    env: { ...process.env, HERALD_PROGRESS_SECONDS: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let ticker = 0;
  // The output ends only when no process holds it any more.
  for await (const line of createInterface({ input: child.stdout })) {
    ticker ||= Number(line.replace('setup: ', ''));
    child.kill('SIGKILL');
  }
  expect(ticker).toBeGreaterThan(0);
});

test('every set-up that installs or builds shows progress and ends it when it fails', () => {
  const scripts = globSync('scripts/{setup,setup-*,debian-root}.sh', { cwd: root }).filter((file) =>
    /apt-get -q|npm ci|go build|debootstrap --/.test(readFileSync(join(root, file), 'utf8').replaceAll(/^#.*$/gm, '')),
  );
  expect(scripts.length).toBeGreaterThanOrEqual(5);
  for (const file of scripts) {
    const text = readFileSync(join(root, file), 'utf8');
    expect([file, text.includes('progress.sh"'), text.includes('start_progress "')]).toEqual([file, true, true]);
    expect(text).toMatch(/trap (stop_progress|cleanup) EXIT/);
  }
});
