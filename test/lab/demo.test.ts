import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
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
  expect(events.at(-1)?.passed).toBeGreaterThanOrEqual(30);
  expect(status).toBe(0);
});

test('--ui opens the console over the lab, and Ctrl-C ends both', { timeout: 120_000 }, async () => {
  const running = spawn(process.execPath, ['test/lab/demo/main.ts', '--ui', '--json'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(running, 'exit');
  let id = '';
  try {
    const address = await addressOf(createInterface({ input: running.stdout }));
    const entered = await fetch(address);
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const fabric = await fetch(new URL('/api/fabric', address), { headers: { Cookie: cookie } });
    const { nodes, from } = (await fabric.json()) as { readonly nodes: readonly object[]; readonly from: string };
    expect(nodes).toHaveLength(3);
    id = /\/(hl\w+)\//.exec(from)?.[1] ?? '';
    expect(existsSync(`/run/netns/${id}-tor1`)).toBe(true);
  } finally {
    running.kill('SIGINT');
  }
  expect(await ended).toEqual([130, null]);
  expect(existsSync(`/run/netns/${id}-tor1`)).toBe(false);
});

async function addressOf(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const found = /http:[^\s"]+/.exec(line)?.[0];
    if (found !== undefined) return found;
  }
  throw new Error('the demo printed no address');
}

test('--keep leaves a complete lab, and every printed command runs', { timeout: 290_000 }, () => {
  const { status, lines } = demo('--keep');
  const id = lines.map((line) => /node test\/lab\/sweep\.ts (hl\w+)/.exec(line)?.[1]).find((found) => found !== undefined) ?? '';
  const run = (command: string): { status: number | null; stdout: string; stderr: string } =>
    spawnSync('bash', ['-c', command], { cwd: root, encoding: 'utf8', timeout: 60_000 });
  try {
    expect(lines.at(-1)).toMatch(/^demo: \d+ checks passed, 0 failed$/);
    expect(status).toBe(0);
    expect(existsSync(`/run/netns/${id}-tor1`)).toBe(true);
    const from = lines.findIndex((line) => line.includes('Try, in this directory:'));
    // As pasted, with the spaces before them.
    const printed = lines.slice(from + 1).filter((line) => /^ +(bin\/herald|ip netns|ls) /.test(line));
    expect(printed.length).toBeGreaterThanOrEqual(8);
    for (const command of printed) expect({ command, ...run(command) }).toMatchObject({ status: 0, stderr: '' });
    const manifests = `/run/herald-lab/${id}/manifests`;
    expect(run(`ls ${manifests}`).stdout).toBe('10-cluster.yaml\n20-herald.yaml\n30-web.yaml\n40-ledger.yaml\n');
    expect(JSON.parse(run(`bin/herald status -o json --source ${manifests}`).stdout)).toMatchObject({
      nodes: { total: 3, reporting: 3, troubled: [] },
      services: { total: 2 },
      sessions: { expected: 12, established: 12 },
    });
  } finally {
    const { stdout } = run(`node_modules/.bin/node test/lab/sweep.ts ${id}`);
    expect(stdout).toBe(`took down ${id}\n`);
  }
  expect(existsSync(`/run/netns/${id}-tor1`)).toBe(false);
});
