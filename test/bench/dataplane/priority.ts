import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Gives the process this process's priority: one that leads its own session is scheduled as a group of its own. */
export function sharePriority(pid: number): void {
  const nice = existsSync('/proc/self/autogroup') ? / nice (-?\d+)/.exec(readFileSync('/proc/self/autogroup', 'utf8'))?.[1] : undefined;
  if (nice !== undefined) writeFileSync(`/proc/${pid}/autogroup`, nice);
}
