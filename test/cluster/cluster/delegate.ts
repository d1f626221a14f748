import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Lets cgroups of version 2 below `top` have controllers. In a container, `top` is not the root of the machine, and a cgroup gives controllers to
 * those below only when it has no process itself (cgroups(7), "no internal processes"). So its processes move into a leaf, as in other containers
 * that run containers. Does nothing at the root of a machine, which has no cgroup.type.
 */
export function delegateControllers(top: string): void {
  if (!existsSync(join(top, 'cgroup.type'))) return;
  const words = (file: string): readonly string[] =>
    readFileSync(join(top, file), 'utf8')
      .split(/\s+/)
      .filter((word) => word !== '');
  const controllers = words('cgroup.controllers');
  const given = new Set(words('cgroup.subtree_control'));
  if (controllers.every((controller) => given.has(controller))) return;
  const leaf = join(top, 'processes-of-container');
  mkdirSync(leaf, { recursive: true });
  for (const pid of words('cgroup.procs')) move(pid, join(leaf, 'cgroup.procs'));
  writeFileSync(join(top, 'cgroup.subtree_control'), controllers.map((controller) => `+${controller}`).join(' '));
}

/** The kernel takes one process with each write. */
function move(pid: string, file: string): void {
  try {
    appendFileSync(file, `${pid}\n`);
  } catch (error) {
    // The process has ended since.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
