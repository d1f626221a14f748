import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../lab/until.ts';
import { compileCache } from './compile-cache.ts';

const program = join(import.meta.dirname, '../../bin/herald');

/**
 * Runs before the suites that start `herald`: fills Node.js' cache of compiled files where it is empty, by one start of a controller and an agent in a
 * network namespace of their own. Tests end most processes with SIGKILL, so that these save nothing.
 */
export async function setup(): Promise<void> {
  const marker = join(compileCache, 'herald');
  if (existsSync(marker)) return;
  const folder = mkdtempSync(join(tmpdir(), 'herald-compile-'));
  try {
    const child = spawn('unshare', ['--net', program, 'run', folder, '--node', 'node1', '--socket', join(folder, 'socket')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    });
    const exited = once(child, 'exit');
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    await until('herald runs', () => printed.includes('agent started') || child.exitCode !== null);
    child.kill('SIGTERM');
    await exited;
    if (!printed.includes('agent started')) throw new Error(`herald did not start: ${printed}`);
    writeFileSync(marker, '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
