import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../lab/until.ts';
import type { ClusterNode } from '../cluster/node.ts';
import type { Bed } from './bed.ts';

/** Bytes by which the agent may grow after the limit was set. Then the kernel kills the largest process of the container, which is the agent. */
const room = 4 * 1024 * 1024;

/**
 * Lowers the memory limit of a running container to little more than it uses, and starts a small process in it that takes the rest: the kernel has to
 * kill one, as when a container grows beyond its limit. The kubelet reports OOMKilled.
 */
export async function killByMemory(node: ClusterNode, pod: string, bed: Bed): Promise<void> {
  const id = (await bed.kubectl('get', 'pod', pod, '--output=jsonpath={.status.containerStatuses[0].containerID}')).replace(
    'containerd://',
    '',
  );
  const { usage, limit, processes } = memoryFiles(node, id);
  const [agent = ''] = readFileSync(processes, 'utf8').trim().split('\n');
  writeFileSync(limit, String(Number(readFileSync(usage, 'utf8')) + room));
  await until('the kernel has killed the agent', async () => {
    // Moved by its shell before it begins to allocate. It is smaller than the agent at every moment.
    const hog = `echo $$ >${processes}; exec head -c ${2 * room} /dev/zero | tail -c ${2 * room} >/dev/null`;
    await node.exec(['sh', '-c', hog], { check: false });
    return !existsSync(`/proc/${agent}`);
  });
}

interface MemoryFiles {
  readonly usage: string;
  readonly limit: string;
  readonly processes: string;
}

/** Finds the container's cgroup below the node's: of version 1 with the memory controller, or of version 2. */
function memoryFiles(node: ClusterNode, id: string): MemoryFiles {
  const unified = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const root = join(unified ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory', node.cgroup);
  const folder = readdirSync(root, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith(id));
  if (folder === undefined) throw new Error(`${node.name} has no cgroup of the container ${id}`);
  const file = (name: string): string => join(root, folder, name);
  const [usage, limit] = unified ? ['memory.current', 'memory.max'] : ['memory.usage_in_bytes', 'memory.limit_in_bytes'];
  return { usage: file(usage), limit: file(limit), processes: file('cgroup.procs') };
}
