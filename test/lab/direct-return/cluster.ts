import { NftablesDataplane } from '../../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../../support/namespace-named.ts';
import { directReturnPreflight } from '../../../src/decisions/direct-return/preflight.ts';
import { nodeForwarding } from '../../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../../src/decisions/forwarding/plan.ts';
import type { DirectReturnMode } from '../../../src/model/kinds/types.ts';
import type { NodeState } from '../../../src/model/objects/node-state.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { address, type Family } from '../../../src/net/address.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { cluster, metadata } from '../../unit/decisions/fixtures.ts';
import { inside, namespaceOf, nodeAddress, nodes, podAddress, podPort, vip, type Layout, type Machine } from './three-nodes.ts';

const families: readonly Family[] = [4, 6];

export interface ClusterOptions {
  readonly mode: DirectReturnMode;
  /** False: consistent hashing with address translation, without direct server return. True by default. */
  readonly direct?: boolean;
  /** The numbers of the pods that serve. All by default. */
  readonly pods?: readonly number[];
  /** Nodes that report that they can receive nothing. */
  readonly notReceiving?: readonly number[];
}

/** Returns the objects that all nodes see, with each node's own report. */
export function objects(layout: Layout, { mode, direct = true, pods = nodes, notReceiving = [] }: ClusterOptions): Snapshot {
  const snapshot = cluster({
    nodes: nodes.map((n) => ({
      name: `node${n}`,
      internalIPs: families.map((family) => nodeAddress(layout, family, n)),
      podCIDRs: [`10.244.${n}.0/24`, `fd44:${n}::/64`],
    })),
    services: [
      {
        name: 'web',
        clusterIPs: ['10.96.0.1', 'fd96::1'],
        ports: ['80/TCP', '80/UDP'].map((text, index) => `${['tcp', 'udp'][index]}:${text}`),
        assigned: families.map(vip),
        loadBalancing: 'consistent',
      },
    ],
    slices: families.map((family) => ({
      service: 'web',
      name: `web-${family}`,
      family,
      ports: [`tcp:${podPort}/TCP`, `udp:${podPort}/UDP`],
      endpoints: pods.map((n) => `${podAddress(family, n)}@node${n}`),
    })),
    config: { directReturn: direct, directReturnMode: mode },
  });
  return { ...snapshot, nodeStates: new Map(nodes.map((n) => [`node${n}`, report(layout, mode, n, !notReceiving.includes(n))])) };
}

/** Returns the report of a node's agent, for a namespace without any problem. */
function report(layout: Layout, mode: DirectReturnMode, n: number, receives: boolean): NodeState {
  const machine: Machine = `node${n}`;
  const linkAddress = inside(machine, 'cat /sys/class/net/eth0/address').trim();
  const { report: directReturn } = directReturnPreflight(mode, {
    addresses: families.map((family) => address(nodeAddress(layout, family, n))),
    interfaces: families.map((family) => ({
      name: 'eth0',
      address: nodeAddress(layout, family, n),
      length: family === 4 ? 24 : 64,
      linkAddress,
    })),
    strict: new Set(),
    mtu: new Map([['eth0', 1500]]),
    filters: [],
    lacks: {},
  });
  return {
    kind: 'NodeState',
    metadata: metadata(machine),
    updated: '2026-01-01T00:00:00Z',
    consumed: {},
    sessions: [],
    differing: [],
    directReturn: receives ? directReturn : { ...directReturn, receives: [] },
  };
}

/** The data planes of the three nodes: decisions and kernel, without agents. */
export class DataPlanes {
  readonly #layout: Layout;
  readonly #planes = new Map<number, NftablesDataplane>();

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** Programs some of the nodes with what they decide. */
  async set(options: ClusterOptions, only: readonly number[] = nodes): Promise<void> {
    const snapshot = objects(this.#layout, options);
    await Promise.all(only.map((n) => this.setNode(n, snapshot)));
  }

  async setNode(n: number, snapshot: Snapshot): Promise<void> {
    const name = `node${n}`;
    const web = snapshot.services.get('default/web');
    const forwarding = web === undefined ? undefined : decideForwarding(snapshot, web, name).forwarding;
    const services = new Map(forwarding === undefined ? [] : [['default/web', forwarding] as const]);
    let plane = this.#planes.get(n);
    if (plane === undefined) {
      plane = new NftablesDataplane(
        machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf(`node${n}`)) }),
      );
      this.#planes.set(n, plane);
      await plane.replace(nodeForwarding(snapshot, name), services);
    } else {
      await plane.setNode(nodeForwarding(snapshot, name));
      await plane.apply(services);
    }
  }

  async restart(n: number, options: ClusterOptions): Promise<void> {
    await this.#planes.get(n)?.close();
    this.#planes.delete(n);
    await this.set(options, [n]);
  }

  async cleanup(n: number): Promise<void> {
    await this.#planes.get(n)?.cleanup();
    this.#planes.delete(n);
  }

  async close(): Promise<void> {
    for (const plane of this.#planes.values()) await plane.close();
    this.#planes.clear();
  }
}
