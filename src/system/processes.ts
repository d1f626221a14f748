import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';

/** Returns the ids of visible processes with this name in the network namespace of this process. Only tests pass `root`. */
export async function processesNamed(name: string, root = '/proc'): Promise<number[]> {
  const own = await readlink(`${root}/self/ns/net`).catch(() => undefined);
  const ids: number[] = [];
  for (const entry of await readdir(root)) {
    if (!/^\d+$/.test(entry)) continue;
    // A process that ends during the scan is left out.
    const command = await readFile(`${root}/${entry}/comm`, 'utf8').catch(() => '');
    if (command.trim() !== name) continue;
    if ((await readlink(`${root}/${entry}/ns/net`).catch(() => undefined)) === own) ids.push(Number(entry));
  }
  return ids;
}

/** Activity of a thread of this process, from the kernel. */
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
