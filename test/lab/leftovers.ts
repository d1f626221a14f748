import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/** Removes the namespaces "PREFIX-PID..." of tests that were killed. */
export function removeLeftovers(prefix: string): void {
  if (!existsSync('/run/netns')) return;
  for (const name of readdirSync('/run/netns')) {
    const pid = new RegExp(`^${prefix}-(\\d+)(-|$)`).exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    } catch {
      // Another process removed it first.
    }
  }
}
