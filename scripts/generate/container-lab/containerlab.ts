import { defined } from '../../../src/lang/defined.ts';
import type { Topology } from '../../../test/lab/topology.ts';
import { podInterface } from './machine-files.ts';
import { containerOf, pod, type Container } from './containers.ts';

/** Returns topology.clab.yml, with exactly the links of the lab, so that packets have no other path. */
export function containerlab(topology: Topology): object {
  const machines = topology.machines.map((machine) => [machine.name, nodeOf(containerOf(machine), machine.name)] as const);
  const pods = topology.pods.map((spec) => [spec.name, nodeOf(pod(spec), spec.name)] as const);
  return {
    name: 'herald',
    topology: {
      defaults: { kind: 'linux', 'network-mode': 'none' },
      nodes: Object.fromEntries([...machines, ...pods]),
      links: [
        ...topology.links.map(([a, b]) => ({ endpoints: [`${a.machine}:${a.interface}`, `${b.machine}:${b.interface}`] })),
        ...topology.pods.map((spec) => ({ endpoints: [`${spec.node}:${podInterface(spec)}`, `${spec.name}:eth0`] })),
      ],
    },
  };
}

function nodeOf({ image, entrypoint, command, binds, user }: Container, name: string): object {
  return {
    image,
    ...defined({ user, entrypoint, cmd: command }),
    binds: [...binds, `${name}/network.sh:/lab/network.sh:ro`],
    exec: ['sh /lab/network.sh'],
  };
}
