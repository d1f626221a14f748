import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Identifies a process. A later process with the same number has another identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process: field 22 of /proc/PID/stat (proc(5)). */
  readonly started: string;
}

/** Returns the identity of a process, or undefined if there is none or if it is dead and was not waited for. */
export function identify(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const started = fields[19];
  return started === undefined || state === 'Z' || state === 'X' ? undefined : { pid, started };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

/** Sends a signal to exactly that process. Returns false if it is gone. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, name);
    return true;
  } catch {
    return false;
  }
}
