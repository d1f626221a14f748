import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './command.ts';
import { frrDirectories } from './frr.ts';
import { identify, isAlive, signal, type ProcessIdentity } from './owner.ts';
import { abandonedIds, directoryOf, recordedProcesses } from './state.ts';

const namespaceRoot = '/run/netns';

/** Milliseconds to wait for processes to end. After SIGKILL a process is gone at once unless the kernel is busy with it. */
const killTimeoutMs = 5000;

/**
 * Ends everything that belongs to a lab, by process id and by namespace name, and deletes its state. Idempotent, and safe while another
 * teardown of the same lab runs.
 *
 * The state directory goes last, for the case that this teardown is itself killed.
 */
export async function teardown(id: string): Promise<void> {
  const namespaces = namespacesOf(id);
  await killAll(id, namespaces);
  if (namespaces.length > 0)
    await run(['ip', '-force', '-batch', '-'], { input: namespaces.map((name) => `netns del ${name}\n`).join(''), check: false });
  for (const directory of namespaces.flatMap(frrDirectories)) rmSync(directory, { recursive: true, force: true });
  rmSync(directoryOf(id), { recursive: true, force: true });
}

/** Takes down labs whose owner is gone, and returns their ids. Labs of living owners are not touched. */
export async function sweep({ kept = false }: { readonly kept?: boolean | string } = {}): Promise<readonly string[]> {
  const all = abandonedIds(kept !== false);
  // With an id, only that lab is taken down. Other kept labs stay.
  const ids = typeof kept === 'string' ? all.filter((id) => id === kept) : all;
  for (const id of ids) await teardown(id);
  return ids;
}

export function namespacesOf(id: string): readonly string[] {
  return existsSync(namespaceRoot) ? readdirSync(namespaceRoot).filter((name) => name.startsWith(`${id}-`)) : [];
}

/** Returns the processes in the lab's namespaces, started by any program, and those that the lab recorded. */
export function processesOf(id: string, namespaces: readonly string[] = namespacesOf(id)): readonly ProcessIdentity[] {
  const inodes = new Set(namespaces.map((name) => inode(`${namespaceRoot}/${name}`)));
  inodes.delete(undefined);
  const inside = readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && inodes.has(inode(`/proc/${name}/ns/net`)))
    .map((name) => identify(Number(name)))
    .filter((identity) => identity !== undefined);
  return [...inside, ...recordedProcesses(id).filter(isAlive)];
}

async function killAll(id: string, namespaces: readonly string[]): Promise<void> {
  const attempts = killTimeoutMs / 10;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const alive = processesOf(id, namespaces);
    if (alive.length === 0) return;
    for (const identity of alive) signal(identity, 'SIGKILL');
    await sleep(10);
  }
}

/**
 * Returns the inode of a path. Undefined if the path is gone or not readable, as for process 1 of a container host, which is not in a lab.
 */
function inode(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}
