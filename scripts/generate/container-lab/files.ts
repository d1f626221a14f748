import { stringify } from 'yaml';
import { standardTopology } from '../../../test/lab/standard-topology.ts';
import { compose, podGatewayOf } from './compose.ts';
import { containerlab } from './containerlab.ts';
import { frrConf, frrDaemons, networkScript, podNetworkScript, podRoutesScript, remark, routesScript } from './machine-files.ts';

/** Returns the files of the lab as containers, by path below examples/containerlab. The manifests of examples/fabric fit it. */
export function containerLabFiles(): ReadonlyMap<string, string> {
  const topology = standardTopology({ pods: ['node1', 'node2', 'node3'].map((node, index) => ({ name: `web-${index + 1}`, node })) });
  const files = new Map<string, string>([
    ['topology.clab.yml', yaml(containerlab(topology))],
    ['compose.yaml', yaml(compose(topology))],
  ]);
  for (const machine of topology.machines) {
    files.set(`${machine.name}/network.sh`, networkScript(topology, machine));
    files.set(`${machine.name}/routes.sh`, routesScript(machine));
    if (machine.frr === undefined) continue;
    files.set(`${machine.name}/frr.conf`, frrConf(machine));
    files.set(`${machine.name}/daemons`, frrDaemons(machine));
    files.set(`${machine.name}/vtysh.conf`, `! ${remark}\nservice integrated-vtysh-config\n`);
  }
  for (const pod of topology.pods) {
    files.set(`${pod.name}/network.sh`, podNetworkScript(pod));
    files.set(`${pod.name}/routes.sh`, podRoutesScript(podGatewayOf(pod.node)));
  }
  return files;
}

function yaml(document: object): string {
  return `# ${remark}\n${stringify(document, { lineWidth: 0 })}`;
}
