import type { MachineSpec, PodSpec } from '../../../test/lab/topology.ts';

/** A container, the same for containerlab and compose. Paths in `binds` are below examples/containerlab. */
export interface Container {
  readonly image: string;
  readonly entrypoint?: string;
  readonly command?: string;
  readonly binds: readonly string[];
  readonly user?: string;
}

/** The user chooses the images: both programs replace these with environment variables. */
const images = { frr: '${FRR_IMAGE}', herald: '${HERALD_IMAGE}' } as const;

/** Node.js in the image that Containerfile makes. */
const node = '/opt/herald/node_modules/.bin/node';
const tools = '../../test/lab:/lab/tools:ro';
const manifests = 'manifests:/etc/herald';
const root = 'root';

export function containerOf(machine: MachineSpec): Container {
  if (machine.frr !== undefined) return router(machine.name);
  if (machine.kind === 'node') return herald(machine.name);
  return machine.kind === 'control' ? controller : client;
}

const router = (name: string): Container => ({
  image: images.frr,
  binds: ['frr.conf', 'daemons', 'vtysh.conf'].map((file) => `${name}/${file}:/etc/frr/${file}:ro`),
});

const herald = (name: string): Container => ({
  image: images.herald,
  command: `agent --node ${name} --source /etc/herald`,
  binds: [manifests],
  user: root,
});

const controller: Container = { image: images.herald, command: 'controller --source /etc/herald', binds: [manifests], user: root };

export const pod = ({ name, ports = [8080] }: PodSpec): Container => ({
  image: images.herald,
  entrypoint: node,
  command: `/lab/tools/pod-server.ts ${name} ${ports.join(' ')}`,
  binds: [tools],
  user: root,
});

const client: Container = { image: images.herald, entrypoint: 'sleep', command: 'infinity', binds: [tools], user: root };
