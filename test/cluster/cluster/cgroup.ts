import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { delegateControllers } from './delegate.ts';

const root = '/sys/fs/cgroup';

/** Creates a cgroup "/hl3f2a/node1" in every hierarchy, as a parent for a kubelet's pods: cgroups of version 1, or of version 2. */
export function createCgroup(path: string): void {
  if (unified) delegateControllers(root);
  for (const hierarchy of hierarchies()) {
    const directory = join(hierarchy, path);
    mkdirSync(directory, { recursive: true });
    for (const ancestor of ancestors(hierarchy, path)) {
      // A new cpuset of version 1 has no processor and no memory, and takes no process.
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        if (existsSync(join(ancestor, file)) && !unified) writeFileSync(join(ancestor, file), readFileSync(join(hierarchy, file)));
    }
  }
}

/** Removes a cgroup with all below it, in every hierarchy. Its processes must have ended. Idempotent. */
export function removeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) removeTree(join(hierarchy, path));
}

/** Returns the names of the cgroups below the root of every hierarchy. */
export function cgroupNames(): ReadonlySet<string> {
  return new Set(hierarchies().flatMap(directoriesIn));
}

const unified = existsSync(join(root, 'cgroup.controllers'));

/** Returns the mount points of all hierarchies. With version 2 there is one. A second one of version 2 beside version 1 has no controller. */
function hierarchies(): string[] {
  if (unified) return [root];
  return readdirSync(root)
    .filter((name) => name !== 'unified')
    .map((name) => join(root, name))
    .filter((directory) => existsSync(join(directory, 'cgroup.procs')));
}

function ancestors(hierarchy: string, path: string): string[] {
  const names = path.split('/').filter((name) => name !== '');
  return names.map((_, index) => join(hierarchy, ...names.slice(0, index + 1)));
}

function removeTree(directory: string): void {
  if (!existsSync(directory)) return;
  for (const name of directoriesIn(directory)) removeTree(join(directory, name));
  rmdirSync(directory);
}

function directoriesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
