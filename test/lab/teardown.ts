import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './command.ts';
import { frrDirectories } from './frr.ts';
import { identify, isAlive, signal, type ProcessIdentity } from './owner.ts';
import { abandonedIds, directoryOf, recordedProcesses } from './state.ts';

const namespaceRoot = '/run/netns';

/** After SIGKILL a process is gone at once unless the kernel is busy for it; this is when we stop waiting. */
const killTimeoutMs = 5000;

/**
 * Ends everything that belongs to a lab, by process id and by namespace name, and forgets it. Idempotent, and safe at the same time
 * as another one for the same lab.
 *
 * Order matters for a teardown that is itself killed: the state directory goes last.
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
  // One lab of those that stand: the others belong to somebody.
  const ids = typeof kept === 'string' ? all.filter((id) => id === kept) : all;
  for (const id of ids) await teardown(id);
  return ids;
}

export function namespacesOf(id: string): readonly string[] {
  return existsSync(namespaceRoot) ? readdirSync(namespaceRoot).filter((name) => name.startsWith(`${id}-`)) : [];
}

/** Processes in the lab's namespaces, whoever started them, and those that the lab recorded. */
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

/** Undefined: it is gone, or not ours to look at, as process 1 of a container host may be, and then it is not in a lab either. */
function inode(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}
