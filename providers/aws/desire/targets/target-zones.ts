import type { Node } from '../../../../src/model/objects/cluster.ts';
import { parseAddress } from '../../../../src/net/address.ts';
import { parsePrefixLeniently, prefixContains } from '../../../../src/net/prefix.ts';
import type { SubnetFact } from '../../model/facts.ts';
import { machineOf } from './targets.ts';

/**
 * Returns a function that finds the zone of a target by its id: the node's zone for an instance, the subnet's zone for an address. The
 * function returns undefined for an unknown zone and for an address outside of the VPC. Its first call builds the lookup tables, because
 * most callers never call it.
 */
export function zonesOfTargets(nodes: readonly Node[], subnets: readonly SubnetFact[]): (target: string) => string | undefined {
  let instances: ReadonlyMap<string, string> | undefined;
  let prefixes: readonly { readonly zone: string; readonly holds: (id: string) => boolean }[] | undefined;
  return (target) => {
    instances ??= new Map(nodes.flatMap(instanceZone));
    prefixes ??= subnets.flatMap(subnetZones);
    return target.startsWith('i-') ? instances.get(target) : prefixes.find(({ holds }) => holds(target))?.zone;
  };
}

function instanceZone(node: Node): [string, string][] {
  const { zone, instance } = machineOf(node) ?? {};
  const known = zone ?? node.metadata.labels['topology.kubernetes.io/zone'];
  return instance === undefined || known === undefined ? [] : [[instance, known]];
}

function subnetZones({ zone, cidr, ipv6Cidr }: SubnetFact): { readonly zone: string; readonly holds: (id: string) => boolean }[] {
  return [cidr, ...(ipv6Cidr === undefined ? [] : [ipv6Cidr])].flatMap((text) => {
    const prefix = parsePrefixLeniently(text);
    if (!prefix.ok) return [];
    const holds = (id: string): boolean => {
      const address = parseAddress(id);
      return address.ok && prefixContains(prefix.value, address.value);
    };
    return [{ zone, holds }];
  });
}
