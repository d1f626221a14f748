import { setTimeout as sleep } from 'node:timers/promises';
import type { ReasonCode } from '../../../../src/model/reasons.ts';
import type { Mistake, Scene } from '../misconfiguration.ts';
import { advertisement, namespace, pool, service, type Change, type Manifest } from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';

/**
 * A mistake behind rules and routes that are as decided. Clients connect to Service "web" of the namespace of the case before it, after it and
 * after the fix.
 */
export interface TruthCase extends Omit<Mistake, 'code'> {
  /** Absent: Herald cannot see the mistake, and claims no more than it has seen. */
  readonly code?: ReasonCode;
  /** The first line of `herald explain service` once clients have connected. */
  readonly verdict: string;
  /** The test runs with TIER=full only. */
  readonly isFull?: true;
  /** How clients connect. By default to port 80 of both addresses of the pool, over TCP. */
  readonly connect?: (scene: Scene, place: Place) => Promise<void>;
  /** What a client that connects outside of the usual way gets: the number of its answers. Absent: explain names the targets to compare. */
  readonly answers?: (scene: Scene, place: Place) => Promise<number>;
  /** Clients get nothing, and Herald cannot see it. */
  readonly isUnseen?: true;
  /** Why the verdict is not true yet. The tests of the case expect that, and fail when it becomes true. */
  readonly gap?: string;
  /** Nobody connects before the mistake: else Herald would say for ten minutes that connections were answered, and when. */
  readonly isQuietBefore?: true;
}

/** An address of each family, on a node. */
export interface Endpoint {
  readonly node: string;
  readonly addresses: readonly [ipv4: string, ipv6: string];
}

export interface Port {
  readonly port: number;
  readonly targetPort: number;
  readonly protocol?: 'TCP' | 'UDP';
}

const port80: readonly Port[] = [{ port: 80, targetPort: 8080 }];

/** Returns the manifests of Service "web" with these endpoints. */
export function serviceTo(
  place: Place,
  endpoints: readonly Endpoint[],
  ports = port80,
  change: Change = {},
  portFields: Change = {},
): Manifest[] {
  const named = ports.map((port) => ({ name: `p${port.port}`, ...port }));
  const [web = {}, ...slices] = service(place, change);
  const { spec } = web as { readonly spec: Change };
  return [
    namespace(place),
    pool(place),
    advertisement(place),
    { ...web, spec: { ...spec, ports: named.map((port) => ({ ...port, ...portFields })) } },
    ...slices.map((slice) => ({
      ...slice,
      ports: named.map(({ name, targetPort, protocol }) => ({ name, port: targetPort, protocol: protocol ?? 'TCP' })),
      endpoints: endpoints.map(({ node, addresses: [ipv4, ipv6] }) => ({
        addresses: [slice['addressType'] === 'IPv4' ? ipv4 : ipv6],
        nodeName: node,
        conditions: { ready: true },
      })),
    })),
  ];
}

/** The pod of a node. */
export const podAt = (node: string): Endpoint => ({
  node,
  addresses: [`10.244.${indexOf(node)}.10`, `fd00:244:${indexOf(node)}::10`],
});

/** An address of the pod of a node that is only of this case. */
export const aliasAt = (place: Place, node: string): Endpoint => ({
  node,
  addresses: [`10.244.${indexOf(node)}.${100 + place.index}`, `fd00:244:${indexOf(node)}::${100 + place.index}`],
});

/** Gives the pod of a node the addresses of `aliasAt`. */
export async function addAlias({ lab }: Scene, place: Place, node: string): Promise<void> {
  const [ipv4, ipv6] = aliasAt(place, node).addresses;
  const pod = lab.pod(`web-${indexOf(node)}`);
  const { internal } = lab.node(node).plan;
  await pod.ip(`addr add ${ipv4}/32 dev eth0`, `addr add ${ipv6}/128 dev eth0 nodad`);
  await lab
    .node(node)
    .ip(
      `route add ${ipv4}/32 dev ${pod.hostInterface} src ${internal.ipv4}`,
      `route add ${ipv6}/128 dev ${pod.hostInterface} src ${internal.ipv6}`,
    );
}

/** A case whose only endpoint is an address of its own, of the pod of a node. */
export function withAlias(node: string): Required<Pick<TruthCase, 'before' | 'prepare'>> {
  return {
    before: (place) => serviceTo(place, [aliasAt(place, node)]),
    prepare: (scene, place) => addAlias(scene, place, node),
  };
}

/** Connects as clients do. Each node that announces the Service gets several connections. */
export async function connectTo({ lab }: Scene, place: Place, port = 80, count = 8): Promise<void> {
  await Promise.all(poolAddresses(place, 1).map((address) => lab.client.tcp({ address, port, count, parallel: 8, timeoutMs: 1500 })));
}

/**
 * Connects for half a minute, a few connections at a time. An agent sees a connection that its own node drops only for some seconds, and looks
 * seldom when the machine is busy.
 */
export async function connectSteadily(scene: Scene, place: Place): Promise<void> {
  for (let round = 0; round < 12; round++) {
    await connectTo(scene, place, 80, 4);
    await sleep(1000);
  }
}

const indexOf = (node: string): string => node.replace('node', '');

/** Both endpoints of a case at a port, as sentences name them. */
export const targetsOf = ({ addresses: [ipv4, ipv6] }: Endpoint, port = 8080): readonly [string, string] => [
  `${ipv4}:${port}`,
  `[${ipv6}]:${port}`,
];

/** "connections to ... get no answer (seen on node1 and node2); ...", for each target. */
export function failuresText(targets: readonly string[], what: string, nodes = 'node1 and node2'): string {
  return targets.map((target) => `connections to ${target} ${what} (seen on ${nodes})`).join('; ');
}

export const refuses = 'are refused';
export const isSilent = 'get no answer';

export const refusedFix = (port: number): string =>
  `Let the program of the pod listen at port ${port} of all addresses (0.0.0.0 and ::, not 127.0.0.1), or correct targetPort of the Service; if it listens, a rule on the way rejects packets.`;
/** The remedy for an endpoint on `home` that does not answer. `seen`: the first node that saw it. */
export function silentFix(address: string, home: string, seen: string): string {
  const ip = address.includes(':') ? 'ip -6' : 'ip';
  const end = `the pod's own routes (ip route get CLIENT in the pod), or a program that accepts no connections (ss -ltn in the pod)`;
  const check = 'herald check service shows from which nodes the endpoints answer.';
  return seen === home
    ? `Look on node "${home}", where they are by their EndpointSlice: is there still a pod with this address, with a route to it that does not lead away (${ip} route get ${address}) and the right neighbor (${ip} neigh show ${address}); then a filter or a NetworkPolicy (nft list ruleset, on the node and in the pod), ${end}; ${check}`
    : `Find what loses the packets between node "${seen}" and the pod on node "${home}": a filter or a NetworkPolicy (nft list ruleset, on both nodes and in the pod), the network plugin's routes (${ip} route get ${address}), ${end}, or an address that no pod has any more; ${check}`;
}

/** Adds a table of nftables rules that is called after the case, and removes it. */
export function filter(
  machine: string,
  chain: 'input' | 'forward' | 'output',
  rules: (place: Place) => readonly string[],
): Pick<TruthCase, 'act' | 'undo'> {
  return {
    act: async ({ lab }, place) => {
      const text = rules(place)
        .map((rule) => `${rule};`)
        .join(' ');
      await lab
        .machine(machine)
        .exec(['nft', `table inet ${tableOf(place)} { chain c { type filter hook ${chain} priority 5; ${text} }; }`]);
    },
    undo: async ({ lab }, place) => void (await lab.machine(machine).exec(['nft', `delete table inet ${tableOf(place)}`])),
  };
}

const tableOf = ({ index }: Place): string => `case${index}`;
