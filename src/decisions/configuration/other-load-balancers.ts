import type { Node } from '../../model/objects/cluster.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { recordedPoolOf } from '../../model/objects/pool-record.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { poolsOf } from '../allocation/pools/pools.ts';

/** API groups of controllers that serve Services without a class. The chart has the same list. */
export const loadBalancerGroups: Readonly<Record<string, string>> = {
  'cilium.io': 'Cilium',
  'metallb.io': 'MetalLB',
  'network.kubesphere.io': 'OpenELB',
  'purelb.io': 'PureLB',
};

/** Schemes of providerIDs of machines without a load balancer of their own. Any other scheme is a cloud's. The chart has the same list. */
export const providersWithoutLoadBalancer: readonly string[] = ['kind', 'kubemark', 'metal3', 'proxmox', 'sidero', 'tinkerbell', 'vsphere'];

/** The facts about a cluster from which another load balancer controller can be told. */
export interface LoadBalancerEvidence {
  readonly snapshot: Pick<Snapshot, 'nodes' | 'services' | 'pools'>;
  /** Names of the API groups that the API server serves. */
  readonly groups: readonly string[];
}

/**
 * Names each kind of evidence that another controller serves LoadBalancers without a class: its API group, a cloud that the nodes belong
 * to, an address outside Herald's pools. Empty: none was found, so Herald may serve them. Services of a foreign class are no evidence.
 */
export function otherLoadBalancers({ snapshot, groups }: LoadBalancerEvidence): string[] {
  const known = groups.filter((group) => Object.hasOwn(loadBalancerGroups, group)).toSorted();
  return [
    ...known.map((group) => `the API group ${group} of ${loadBalancerGroups[group]}`),
    ...first([...snapshot.nodes.values()].flatMap((node) => cloudOf(node))),
    ...first([...snapshot.services.values()].flatMap((service) => foreignAddress(service, snapshot))),
  ];
}

function first(all: readonly string[]): readonly string[] {
  return all.toSorted().slice(0, 1);
}

function cloudOf({ metadata, providerID = '' }: Node): string[] {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//.exec(providerID)?.[1];
  if (scheme === undefined || providersWithoutLoadBalancer.includes(scheme)) return [];
  return [`node ${metadata.name} is of the cloud "${scheme}"`];
}

function foreignAddress(service: Service, { pools }: Pick<Snapshot, 'pools'>): string[] {
  const { type, loadBalancerClass, ingress, metadata } = service;
  if (type !== 'LoadBalancer' || loadBalancerClass !== undefined || ingress.length === 0) return [];
  const addresses = assignedAddresses(service);
  const isOurs =
    addresses.length > 0 &&
    addresses.every((address) => poolsOf(pools, address).length > 0 || recordedPoolOf(service, address) !== undefined);
  return isOurs ? [] : [`Service ${serviceKey(metadata)} has an address of another controller`];
}
