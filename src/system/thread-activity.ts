import { readFileSync } from 'node:fs';

/** What the kernel says of a thread of this process. */
export interface ThreadActivity {
  /** State letter of proc(5): R runs or waits for a processor, S sleeps, D waits for a device, Z has ended. */
  readonly state: string;
  /** Processor time that it has used, in ticks of the kernel. */
  readonly ticks: number;
}

/** Returns undefined when the thread does not exist. The main thread has the id of the process. */
export function threadActivity(thread = process.pid): ThreadActivity | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The name may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', ticks: Number(fields[11]) + Number(fields[12]) };
}

/** Milliseconds of processor time that the calling thread has used. */
export function threadCpuMilliseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
