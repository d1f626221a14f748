import { spawn } from 'node:child_process';
import { until } from '../lab/until.ts';
import { run, type Link } from './link.ts';

/** Records routes that go, from its creation until it is disposed. A route that is replaced in place, as FRR does with a new group of next hops, stays. */
export interface Watch extends AsyncDisposable {
  readonly seen: () => readonly string[];
}

/** Watches these prefixes with `ip monitor route` in the daemon's namespace. They must already be in the kernel. */
export async function watchKernel({ router }: Link, prefixes: readonly string[]): Promise<Watch> {
  // The kernel shows host routes without their length.
  const shown = prefixes.map((prefix) => prefix.replace(/\/(32|128)$/, ''));
  await until('the routes are in the kernel', () => {
    const routes = ['-4', '-6'].map((family) => run('ip', '-n', router, family, 'route', 'show')).join('\n');
    return shown.every((prefix) => routes.includes(`${prefix} `));
  });
  const monitor = spawn('ip', ['-n', router, 'monitor', 'route'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  monitor.stdout.on('data', (data: Buffer) => {
    output += data.toString();
  });
  const lines = (): readonly string[] => output.split('\n');
  // ip monitor does not say when it is ready, so a route is added and deleted until it reports one.
  await until('ip monitor is ready', (note) => {
    run('ip', '-n', router, 'route', 'replace', 'blackhole', '203.0.113.99');
    run('ip', '-n', router, 'route', 'delete', 'blackhole', '203.0.113.99');
    return note(lines()).some((line) => line.includes('203.0.113.99'));
  });
  return {
    seen: () => lines().filter((line) => line.startsWith('Deleted ') && shown.some((prefix) => line.includes(`${prefix} `))),
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => monitor.once('close', resolve));
      monitor.kill();
      await ended;
    },
  };
}
