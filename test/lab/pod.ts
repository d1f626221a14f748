import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { podGateway, type DualStack, type NodePlan } from './address-plan.ts';
import { firstIndex } from './build.ts';
import type { LabProcess } from './lab-process.ts';
import { Machine } from './machine.ts';
import { ip, prepareNamespace } from './namespace.ts';
import type { PodSpec } from './topology.ts';

const program = fileURLToPath(new URL('pod-server.ts', import.meta.url));

/** A server in its own namespace behind a node. See pod-server.ts for its answers. */
export class Pod extends Machine {
  readonly spec: PodSpec;
  readonly address: DualStack;
  #server: LabProcess | undefined;

  constructor(labId: string, spec: PodSpec, address: DualStack) {
    super(labId, spec.name);
    this.spec = spec;
    this.address = address;
  }

  /** The name of the node's end of the pod's link. */
  get hostInterface(): string {
    return `p-${this.name}`;
  }

  /** Links the pod's namespace, which must exist, to its node: a /32 and a /128 behind a veth pair, as with most CNI plugins. */
  async connect(node: Machine & { readonly plan: NodePlan }): Promise<void> {
    await prepareNamespace(this.namespace, false);
    // The node's end can never get this index by chance: see build.ts.
    await ip([
      `link add eth0 index ${firstIndex} netns ${this.namespace} type veth peer name ${this.hostInterface} netns ${node.namespace}`,
    ]);
    const lines = podLinkLines(this.address, this.hostInterface, node.plan);
    await Promise.all([node.ip(...lines.node), this.ip(...lines.pod)]);
  }

  async start(): Promise<void> {
    const ports = this.spec.ports ?? [8080];
    this.#server = this.spawn([process.execPath, program, this.name, ...ports.map(String)], { name: 'pod' });
    await this.#server.waitForLine(/^listening$/);
  }

  /** Kills the pod with SIGKILL. The kernel resets its connections, and its ports refuse. */
  async kill(): Promise<void> {
    this.#server?.kill('SIGKILL');
    await this.#server?.exited;
  }

  /** Sends SIGTERM. The pod ends gracefully and keeps serving for a moment. Resolves when its process has ended. */
  async terminate(): Promise<void> {
    await this.#server?.stop();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }
}

/** Returns lines of `ip -batch` for both ends of a pod's link: a /32 and a /128 behind `hostInterface`. The pod's end is eth0. */
export function podLinkLines(
  { ipv4, ipv6 }: DualStack,
  hostInterface: string,
  node: Pick<NodePlan, 'internal'>,
): { readonly node: readonly string[]; readonly pod: readonly string[] } {
  return {
    node: [
      `addr add ${podGateway.ipv4}/32 dev ${hostInterface} scope link`,
      `addr add ${podGateway.ipv6}/64 dev ${hostInterface} nodad`,
      `link set ${hostInterface} up`,
      `route add ${ipv4}/32 dev ${hostInterface} src ${node.internal.ipv4}`,
      `route add ${ipv6}/128 dev ${hostInterface} src ${node.internal.ipv6}`,
    ],
    pod: [
      `addr add ${ipv4}/32 dev eth0`,
      `addr add ${ipv6}/128 dev eth0 nodad`,
      'link set eth0 up',
      `route add ${podGateway.ipv4}/32 dev eth0`,
      `route add default via ${podGateway.ipv4} dev eth0 src ${ipv4}`,
      `route add default via ${podGateway.ipv6} dev eth0 src ${ipv6}`,
    ],
  };
}
