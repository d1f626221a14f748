import { chooseEndpoints, targetsOf, topologyOf } from '../../../decisions/forwarding/endpoints.ts';
import { decideForwarding } from '../../../decisions/forwarding/plan.ts';
import { defined } from '../../../lang/defined.ts';
import type { NodeUnprobed } from '../../../live/contract.ts';
import { reasonText } from '../../../model/reasons.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../../net/address.ts';
import type { Frontend, Protocol } from '../../../net/frontend.ts';
import { prefixContains } from '../../../net/prefix.ts';

/** Where a check opens a connection. */
export interface CheckTarget {
  readonly what: 'endpoint' | 'address';
  readonly protocol: Protocol;
  readonly address: Address;
  readonly port: number;
  /** The node of an endpoint, if it is known. */
  readonly on?: string;
}

export interface CheckTargets {
  /** The addresses of the Service first. */
  readonly targets: readonly CheckTarget[];
  readonly unprobed: readonly NodeUnprobed[];
}

/**
 * Returns what a node probes of a Service: its addresses, as far as Herald forwards them, and the endpoints that may get new connections on
 * any node. A connection for which the rules have no answer by design (source ranges) proves nothing and is not opened.
 */
export function checkTargets(snapshot: Snapshot, service: Service, node: string): CheckTargets {
  const { forwarding, foreign, reasons } = decideForwarding(snapshot, service, node);
  const own = snapshot.nodes.get(node)?.internalIPs ?? [];
  const targets: CheckTarget[] = [];
  const unprobed = reasons.map((reason): NodeUnprobed => ({ type: 'unprobed', what: 'an address', why: reasonText(reason) }));
  for (const frontend of forwarding?.frontends ?? []) {
    const { match } = frontend;
    if (match.kind !== 'address') continue;
    const { address, protocol, port } = match;
    const what = portText(address, port, protocol);
    if (isGuarded(frontend, address, own))
      unprobed.push({ type: 'unprobed', what, why: `loadBalancerSourceRanges do not admit the addresses of ${node}` });
    else targets.push({ what: 'address', protocol, address, port });
  }
  for (const { match, scope } of foreign)
    if (match.kind === 'address' && scope === 'external')
      unprobed.push({
        type: 'unprobed',
        what: portText(match.address, match.port, match.protocol),
        why: 'HeraldConfig leaves it to another program',
      });
  return { targets: [...targets, ...endpointsOf(snapshot, service, node)], unprobed };
}

/** "198.51.100.10:80/TCP", "[2001:db8::1]:80/TCP". */
export function portText(address: Address, port: number, protocol: Protocol): string {
  return `${endText(address, port)}/${protocol}`;
}

export function endText(address: Address, port: number): string {
  const text = formatAddress(address);
  return `${address.family === 6 ? `[${text}]` : text}:${port}`;
}

function endpointsOf(snapshot: Snapshot, service: Service, node: string): CheckTarget[] {
  const found = new Map<string, CheckTarget>();
  const place = topologyOf(snapshot, node);
  for (const port of service.ports)
    for (const family of service.ipFamilies)
      for (const { address, port: number, nodeName } of chooseEndpoints(targetsOf(snapshot, service, port, family), place).everywhere) {
        const { protocol } = port;
        const key = portText(address, number, protocol);
        found.set(key, { what: 'endpoint', protocol, address, port: number, ...defined({ on: nodeName }) });
      }
  return [...found.values()];
}

/** True when the rules drop connections of the node itself. It uses one of its addresses of the family as source. */
function isGuarded({ sourceRanges }: Frontend, { family }: Address, own: readonly Address[]): boolean {
  const sources = own.filter((one) => one.family === family);
  return sourceRanges !== undefined && !sources.some((source) => sourceRanges.some((range) => prefixContains(range, source)));
}
