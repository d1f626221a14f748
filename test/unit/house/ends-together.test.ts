import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { identify } from '../../lab/owner.ts';
import { until } from '../../lab/until.ts';

const endsTogether = join(import.meta.dirname, '../../lab/ends-together.ts');

/** Starts a process that leads its own session, and one whose parent has ended, prints their IDs, and then does `afterwards`. */
const program = (afterwards: string): string => `
  import { spawn, execFileSync } from 'node:child_process';
  import { endTogether } from '${endsTogether}';
  const letLive = endTogether();
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
  child.unref();
  const orphan = execFileSync('sh', ['-c', 'setsid sleep 300 >/dev/null 2>&1 & echo $!'], { encoding: 'utf8' });
  console.log(child.pid + ' ' + orphan.trim());
  const alive = setInterval(() => undefined, 1000);
  ${afterwards}
`;

async function started(afterwards = ''): Promise<{ readonly child: ReturnType<typeof spawn>; readonly pids: readonly number[] }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program(afterwards)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, pids: line.toString().trim().split(' ').map(Number) };
}

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGINT', 130],
] as const)('%s ends every process that a bench has started', async (signal, status) => {
  const { child, pids } = await started();
  expect(pids.map((pid) => identify(pid) !== undefined)).toEqual([true, true]);
  child.kill(signal);
  expect(await once(child, 'exit')).toEqual([status, null]);
  expect(pids.map(identify)).toEqual([undefined, undefined]);
});

test('further signals do not cut the end short: npm passes on the one that the terminal sends to all', async () => {
  const { child, pids } = await started();
  const repeated = setInterval(() => child.kill('SIGTERM'), 1);
  const exit = await once(child, 'exit');
  clearInterval(repeated);
  expect(exit).toEqual([143, null]);
  expect(pids.map(identify)).toEqual([undefined, undefined]);
});

test('the end of a bench ends every process that it has started', async () => {
  const { child, pids } = await started(`setTimeout(() => process.exit(1), 10)`);
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(pids.map(identify)).toEqual([undefined, undefined]);
});

test('the processes of a lab that is kept live on', async () => {
  const { child, pids } = await started(`letLive(); clearInterval(alive)`);
  expect(await once(child, 'exit')).toEqual([0, null]);
  try {
    expect(pids.map((pid) => identify(pid) !== undefined)).toEqual([true, true]);
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGKILL');
  }
  await until('both have ended', () => pids.every((pid) => identify(pid) === undefined));
});
