import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Lab } from '../../lab/lab.ts';
import { directoryOf } from '../../lab/state.ts';
import { cgroupNames, removeCgroup } from './cgroup.ts';

/** Clusters keep their data here and not in the lab's directory, because /run may be memory. Each has a folder with the id of its lab. */
const root = '/var/tmp/herald-cluster';

export function claimDirectory(id: string): string {
  const directory = join(root, id);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  return directory;
}

/** Removes the cgroups and the data of a cluster. Its processes must have ended. */
export function removeData(id: string): void {
  removeCgroup(`/${id}`);
  rmSync(join(root, id), { recursive: true, force: true });
}

/**
 * Ends clusters whose owner is gone: processes and namespaces as the sweep of labs does, then cgroups and data of every id without a lab. Returns the
 * ids. Clusters of living owners are not touched.
 */
export async function sweepClusters(): Promise<readonly string[]> {
  await Lab.sweep();
  const folders = existsSync(root) ? readdirSync(root) : [];
  const ids = [...new Set([...folders, ...cgroupNames()])].filter((id) => /^hl[0-9a-z]{4}$/.test(id) && !existsSync(directoryOf(id)));
  for (const id of ids) removeData(id);
  return ids;
}
