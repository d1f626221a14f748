import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';
import { bitsOf, formatAddress, isLinkLocal, parseAddressLeniently, sameAddress, type Address } from '../../net/address.ts';
import { matchesInterface } from '../../net/interface-pattern.ts';
import { formatPrefix, maskedPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { HostInterface } from '../../system/host.ts';
import { balancedAdvertisements, announcedPool, poolsOfAddress } from '../announcement/pool-of-address.ts';
import { PrefixTable } from '../prefix-table.ts';
import { advertisedAt } from './advertised.ts';

/** Addresses that are announced by BGP only, of one pool in one network. */
export type UnansweredPool = Extract<Reason, { readonly code: 'PoolUnansweredOnLink' }>;

interface Network {
  readonly interface: string;
  readonly prefix: Prefix;
  /** Addresses of the node on the interface. */
  readonly own: readonly Address[];
}

/**
 * Finds pools whose addresses are announced by BGP only and lie in a network of this host. Machines of that network do not ask a router
 * for such an address but the link, by ARP or NDP, where Herald is silent without an L2Advertisement and `answerOnLocalLinks`. Only pools
 * with an assigned address count, also one by whose record an address is announced that it contains no longer.
 */
export function judgeLocalPools(snapshot: Snapshot, interfaces: readonly HostInterface[]): Reason[] {
  const networks = networksOfHost(interfaces).filter((one) => !isOfPods(snapshot, one));
  if (networks.length === 0) return [];
  const around = (address: Address): Network | undefined => networks.find(({ prefix }) => prefixContains(prefix, address));
  const isOwn = (address: Address): boolean => networks.some(({ own }) => own.some((one) => sameAddress(one, address)));
  const found = [...snapshot.services.values()].flatMap((service) =>
    unanswered(snapshot, service, (address) => (isOwn(address) ? undefined : around(address))),
  );
  return onceEach(found).slice(0, reported);
}

/** A node reports no more of these. */
const reported = 8;

/** Returns the same about the addresses of one Service and the links that nodes report. */
export function unansweredAddresses(snapshot: Snapshot, service: Service): UnansweredPool[] {
  const networks = networksOfNodes(snapshot);
  const around = (address: Address): Network | undefined => networks.around(address).find((one) => !isOfPods(snapshot, one));
  return unanswered(snapshot, service, around);
}

/** Returns the first reason of each pool, interface and family. */
export function onceEach(reasons: readonly UnansweredPool[]): UnansweredPool[] {
  const found = new Map<string, UnansweredPool>();
  for (const one of reasons) {
    const place = placeOf(one);
    if (!found.has(place)) found.set(place, one);
  }
  return [...found.values()];
}

/** Equal for reasons about the same pool and network. */
export function placeOf({ details: { pool, interface: name, network } }: UnansweredPool): string {
  return `${pool} ${name} ${network}`;
}

function unanswered(snapshot: Snapshot, service: Service, around: (address: Address) => Network | undefined): UnansweredPool[] {
  if (snapshot.advertisements.size === 0) return [];
  return assignedAddresses(service).flatMap((address): UnansweredPool[] => {
    const network = around(address);
    if (network === undefined) return [];
    const pool = announcedPool(poolsOfAddress(snapshot, [service], address), balancedAdvertisements(snapshot), [service]);
    if (pool === undefined || !('reason' in advertisedAt(snapshot, address, true))) return [];
    const details = {
      example: `${formatAddress(address)} of Service ${serviceKey(service.metadata)}`,
      pool: pool.metadata.name,
      network: formatPrefix(network.prefix),
      interface: network.interface,
      protocol: address.family === 4 ? 'ARP' : 'NDP',
    };
    return [{ code: 'PoolUnansweredOnLink', details }];
  });
}

const memo = new BasisMemo<PrefixTable<Network>>();

function networksOfNodes({ nodes, nodeStates }: Snapshot): PrefixTable<Network> {
  return memo.get(nodeStates, [nodes, nodeStates].flatMap(basisOf), () => {
    const all = new PrefixTable<Network>();
    for (const node of nodes.keys())
      for (const { name, networks, addresses } of nodeStates.get(node)?.links ?? [])
        for (const prefix of networks)
          all.add(prefix, { interface: name, prefix, own: addresses.filter((one) => prefixContains(prefix, one)) });
    return all;
  });
}

function networksOfHost(interfaces: readonly HostInterface[]): Network[] {
  return interfaces.flatMap(({ name, address: text, length }): Network[] => {
    const address = parseAddressLeniently(text);
    if (!address.ok || isLinkLocal(address.value) || length === bitsOf(address.value.family)) return [];
    return [{ interface: name, own: [address.value], prefix: maskedPrefix(address.value, length) }];
  });
}

function isOfPods({ config }: Snapshot, { interface: name, own }: Network): boolean {
  return (
    config.podInterfaces.some((pattern) => matchesInterface(name, pattern)) ||
    config.podCIDRs.some((prefix) => own.some((one) => prefixContains(prefix, one)))
  );
}
