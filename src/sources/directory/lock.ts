import { createHash } from 'node:crypto';
import { link, mkdir, readFile, readlink, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { defined } from '../../lang/defined.ts';
import { readIfThere } from './atomic-file.ts';
import { limits } from './limits.ts';

/** The process that holds a lock, with its host and boot. A process id alone may be reused. */
interface Holder {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly started: string;
  /** The PID namespace in which `pid` counts. Absent: written by an older version. */
  readonly pids?: string;
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

/**
 * Takes the lock file, or rejects with LockedError, so that each record has one writer. The lock of a dead process is taken over; of
 * several processes that try at once, one succeeds. Needs a file system with hard links.
 */
export async function acquireLock(file: string): Promise<DirectoryLock> {
  await mkdir(dirname(file), { recursive: true });
  return await take(file, await thisProcess(), file);
}

/** Rejects with LockedError when a live process holds the lock. Takes nothing, so another process may still take it. */
export async function requireUnlocked(file: string): Promise<void> {
  const found = await readIfThere(file);
  const holder = found === undefined ? undefined : holderIn(found);
  if (holder !== undefined && (await isAlive(holder, await thisProcess()))) throw new LockedError(file, holder);
}

/**
 * Returns true when the process that holds the lock has certainly ended without giving it up: it ran on this host, where its process id counts.
 * False: it lives, gave the lock up, or cannot be seen from here.
 */
export async function holderHasEnded(file: string): Promise<boolean> {
  const found = await readIfThere(file).catch(() => undefined);
  const holder = found === undefined ? undefined : holderIn(found);
  if (holder === undefined) return false;
  const me = await thisProcess();
  return holder.host === me.host && holder.pids !== undefined && holder.pids === me.pids && !(await isAlive(holder, me));
}

/** Attempts of this process to take a lock. */
let attempts = 0;

/** `path` is the file to take; errors name `lock`. */
async function take(path: string, me: Holder, lock: string): Promise<DirectoryLock> {
  attempts++;
  // No two attempts write the same text, so a text identifies one holding of the lock.
  const text = JSON.stringify({ ...me, attempt: attempts });
  // Written to another file and linked, so that the lock is never seen half written and never overwritten.
  const aside = `${path}.${me.pid}-${me.started}-${attempts}`;
  try {
    await writeFile(aside, text);
    for (let turn = 0; turn < limits.lockTurns; turn++) {
      if (await linked(aside, path)) return held(path, text);
      const found = await readIfThere(path);
      if (found === undefined) continue;
      const holder = holderIn(found);
      if (holder !== undefined && (await isAlive(holder, me))) throw new LockedError(lock, holder);
      // Between finding a stale lock and replacing it, another process may do the same and become the rightful holder. A process that
      // replaces a lock must therefore hold a lock on it, by the same rules, because that holder may die too.
      const guard = await take(`${path}.${digest(found)}`, me, lock);
      try {
        if ((await readIfThere(path)) !== found) continue;
        await rename(aside, path);
        return held(path, text);
      } finally {
        await guard.release();
      }
    }
    throw new Error(`${lock} was taken and given up ${limits.lockTurns} times meanwhile`);
  } finally {
    await rm(aside, { force: true });
  }
}

function held(path: string, text: string): DirectoryLock {
  return {
    async release() {
      if ((await readIfThere(path)) === text) await unlink(path);
    },
  };
}

/** Returns false when the file exists already. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Returns undefined for text that Herald did not write completely: such a lock has no holder. */
function holderIn(text: string): Holder | undefined {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return undefined;
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A process of another host cannot be checked, so its lock is respected. */
async function isAlive(holder: Holder, me: Holder): Promise<boolean> {
  if (holder.host !== me.host) return true;
  return holder.boot === me.boot && (await startOf(holder.pid)) === holder.started;
}

async function thisProcess(): Promise<Holder> {
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const pids = await readlink('/proc/self/ns/pid').catch(() => undefined);
  return { host: hostname(), boot, pid: process.pid, started: (await startOf(process.pid)) ?? '', ...defined({ pids }) };
}

async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may contain spaces, so counting starts behind it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
