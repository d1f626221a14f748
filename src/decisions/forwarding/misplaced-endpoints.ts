import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import type { NoWay, RouteAnswer } from '../../net/endpoint-way.ts';
import { prefixContains } from '../../net/prefix.ts';

/** An endpoint that an EndpointSlice places on this node. */
export interface PlacedEndpoint {
  readonly address: Address;
  /** "shop/web-abc". */
  readonly slice: string;
  /** The other node in whose range of pods it is, by spec.podCIDRs. Absent: it is in none, or in that of this node. */
  readonly rangeOf?: string;
}

/** Returns the endpoints of these Services that are placed on a node, by address, without those in the network of the host. */
export function endpointsPlacedOn(snapshot: Snapshot, services: Iterable<ServiceKey>, node: string): Map<string, PlacedEndpoint> {
  const placed = new Map<string, PlacedEndpoint>();
  const own = snapshot.nodes.get(node);
  for (const service of services)
    for (const { metadata, endpoints } of snapshot.endpointSlices(service))
      for (const { address, nodeName } of endpoints) {
        if (nodeName !== node || own?.internalIPs.some((one) => sameAddress(one, address)) === true) continue;
        const rangeOf = own === undefined ? undefined : nodeOfRange(snapshot, address);
        const isElsewhere = rangeOf !== undefined && rangeOf !== node;
        placed.set(formatAddress(address), {
          address,
          slice: `${metadata.namespace}/${metadata.name}`,
          ...(isElsewhere ? { rangeOf } : {}),
        });
      }
  return placed;
}

/** Returns the only node in whose range an address is. */
function nodeOfRange({ nodes }: Snapshot, address: Address): string | undefined {
  const found = [...nodes].filter(([, { podCIDRs }]) => podCIDRs.some((range) => prefixContains(range, address)));
  return found.length === 1 ? found[0]?.[0] : undefined;
}

/**
 * Returns why an endpoint that is placed on this node certainly is elsewhere: its route leads to another node, or away from this one while its
 * address is in the range of another. A range alone shows nothing, because some network plugins do not use those of Nodes. `isOwn`: the address is
 * one of this host, as the gateway by which some plugins lead to local pods.
 */
export function judgePlace(
  { nodes }: Pick<Snapshot, 'nodes'>,
  node: string,
  { slice, rangeOf }: PlacedEndpoint,
  { hop, isSpread }: Pick<RouteAnswer, 'hop' | 'isSpread'>,
  isOwn: (address: Address) => boolean,
): NoWay | undefined {
  const gateway = hop?.isGateway === true && !isOwn(hop.address) ? hop.address : undefined;
  if (gateway === undefined && isSpread !== true) return undefined;
  if (rangeOf !== undefined) return { kind: 'onOtherNode', slice, other: rangeOf, shownBy: 'range' };
  const [other] = [...nodes].find(([name, { internalIPs }]) => {
    return name !== node && gateway !== undefined && internalIPs.some((one) => sameAddress(one, gateway));
  }) ?? [undefined];
  return other === undefined ? undefined : { kind: 'onOtherNode', slice, other, shownBy: 'route' };
}
