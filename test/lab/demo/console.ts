import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Scene } from './chapters.ts';

const root = join(import.meta.dirname, '../../..');
const nodes = ['node1', 'node2', 'node3'];

export interface DemoConsole {
  /** Resolves when `herald ui` has ended: by Ctrl-C. */
  readonly ended: Promise<void>;
}

/** Builds the page, starts `herald ui` over the demo's lab, and opens the browser where there is a desktop. */
export async function openConsole({ herald, reporter }: Pick<Scene, 'herald' | 'reporter'>): Promise<DemoConsole> {
  execFileSync(process.execPath, [join(root, 'scripts/build-console.ts')], { stdio: ['ignore', 'ignore', 'inherit'] });
  const sockets = ['controller', ...nodes].flatMap((of) => ['--socket', herald.socket(of)]);
  const console = spawn(join(root, 'bin/herald'), ['ui', '--source', herald.directory, ...sockets], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => console.once('exit', () => resolve()));
  for await (const line of createInterface({ input: console.stdout })) {
    if (!line.includes('http://')) continue;
    reporter.say(line);
    console.stdout.resume();
    return { ended };
  }
  throw new Error('herald ui ended before it printed its address');
}
