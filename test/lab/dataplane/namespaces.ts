import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Runs commands in a namespace and returns what the last one printed. */
export function runInside(namespace: string, commands: readonly string[]): string {
  let output = '';
  for (const command of commands)
    output = execFileSync('ip', ['netns', 'exec', namespace, ...command.split(' ')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 26,
    });
  return output;
}

/** Removes the namespaces of the data plane's labs, `hd-PID-...`: those of this process, and those of processes that have ended. */
export function removeNamespaces(): void {
  for (const name of execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }).split(/\s+/)) {
    const pid = /^hd-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || (Number(pid) !== process.pid && existsSync(`/proc/${pid}`))) continue;
    try {
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    } catch {
      // Another process removed it first.
    }
  }
}
