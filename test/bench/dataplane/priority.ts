import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** A process that leads a session of its own is scheduled as a group of its own: what ours was given is to count for it too. */
export function sharePriority(pid: number): void {
  const nice = existsSync('/proc/self/autogroup') ? / nice (-?\d+)/.exec(readFileSync('/proc/self/autogroup', 'utf8'))?.[1] : undefined;
  if (nice !== undefined) writeFileSync(`/proc/${pid}/autogroup`, nice);
}
