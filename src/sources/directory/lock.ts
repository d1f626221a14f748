import { mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

/** Who holds a lock: a process of a boot of a host. A process id alone is reused. */
interface Holder {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly started: string;
}

export class LockedError extends Error {
  readonly code = 'locked';

  constructor(file: string, { host, pid }: Holder) {
    super(`process ${pid} on ${host} already works on this directory (${file}); stop it, or remove the file if it is gone`);
    this.name = 'LockedError';
  }
}

export interface DirectoryLock {
  release(): Promise<void>;
}

/** One writer per record: takes the lock file, or rejects with LockedError. A lock whose process is gone is taken over. */
export async function acquireLock(file: string): Promise<DirectoryLock> {
  const me = JSON.stringify(await thisProcess());
  await mkdir(dirname(file), { recursive: true });
  const release = async (): Promise<void> => {
    if ((await readFile(file, 'utf8').catch(() => '')) === me) await unlink(file);
  };
  try {
    await writeFile(file, me, { flag: 'wx' });
    return { release };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = await readHolder(file);
  if (holder !== undefined && (await isAlive(holder))) throw new LockedError(file, holder);
  // Written aside and renamed over the stale one, so that the file is never seen half written.
  const aside = `${file}.${process.pid}`;
  await writeFile(aside, me);
  await rename(aside, file);
  return { release };
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder;
  } catch {
    return undefined; // gone meanwhile, or cut short by a crash: nobody's
  }
}

/** A process of another host cannot be looked up, so its lock stands. */
async function isAlive(holder: Holder): Promise<boolean> {
  const me = await thisProcess();
  if (holder.host !== me.host) return true;
  return holder.boot === me.boot && (await startOf(holder.pid)) === holder.started;
}

async function thisProcess(): Promise<Holder> {
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  return { host: hostname(), boot, pid: process.pid, started: (await startOf(process.pid)) ?? '' };
}

async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses and may contain spaces: count from behind it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
