import { hashSeed } from '../../net/connection-hash.ts';
import { slotTableSizes } from '../../net/frontend.ts';
import { directClass, directHashes } from '../ruleset/classid.ts';
import { tableFamily } from '../ruleset/layout.ts';
import type { Family } from '../../net/address.ts';

/** The table of mode l2. Its name differs from that of the other tables, because it is not watched: losing it only costs speed. */
export const ingressTableName = 'herald_direct';
export const ingressTable = `netdev ${ingressTableName}`;

const families: readonly Family[] = [4, 6];
const hashed = directHashes.flatMap((of) => slotTableSizes.map((slots) => [of, slots] as const));

/** One element: "frontends4", "192.0.2.1 . tcp . 80", "43:3fd". */
export interface IngressElement {
  readonly map: `frontends${Family}` | `nodes${Family}`;
  readonly key: string;
  readonly value: string;
}

/**
 * Returns the commands that create the table, replacing an existing one. A frame for a backend of another node leaves by the interface by
 * which it came, unchanged except for its hop limit. All other frames continue to the host. `interfaces`: at least one.
 *
 * Fragments continue to the host, because only the first one has ports. The host reassembles them and sends the whole packet on
 * (../ruleset/direct-return-chains.ts).
 */
export function ingressSkeleton(interfaces: readonly string[], linkAddresses: readonly string[]): string[] {
  const lines = [`add table ${ingressTable}`, `delete table ${ingressTable}`, `add table ${ingressTable}`];
  lines.push(`add set ${ingressTable} node_links { type ether_addr ; }`);
  if (linkAddresses.length > 0) lines.push(`add element ${ingressTable} node_links { ${linkAddresses.join(' , ')} }`);
  for (const family of families) {
    const address = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
    const frontend = `${address} . inet_proto . inet_service`;
    lines.push(
      `add map ${ingressTable} frontends${family} { type ${frontend} : classid ; }`,
      `add map ${ingressTable} nodes${family} { type ${frontend} . classid : ${address} ; }`,
      `add map ${ingressTable} hashes${family} { type classid : verdict ; }`,
    );
    for (const [of, slots] of hashed) {
      const chain = `hash${family}_${of}_${slots}`;
      const source = of === 'client' ? `${tableFamily(family)} saddr` : `${tableFamily(family)} saddr . th sport`;
      lines.push(
        `add chain ${ingressTable} ${chain}`,
        `add rule ${ingressTable} ${chain} meta priority set jhash ${source} mod ${slots} seed 0x${hashSeed.toString(16)}`,
        `add element ${ingressTable} hashes${family} { ${directClass(of, slots)} : jump ${chain} }`,
      );
    }
  }
  for (const [index, name] of interfaces.entries()) {
    for (const family of families) {
      const ip = tableFamily(family);
      const key = `${ip} daddr . meta l4proto . th dport`;
      const chain = `pass${family}_${index}`;
      const rule = (text: string): string => `add rule ${ingressTable} ${chain} ${text}`;
      lines.push(
        `add chain ${ingressTable} ${chain}`,
        rule(family === 4 ? 'ip frag-off and 0x3fff != 0 return' : 'exthdr frag exists return'),
        rule(`meta priority set ${key} map @frontends${family} meta priority vmap @hashes${family}`),
        rule(`fwd ${ip} to ${key} . meta priority map @nodes${family} device "${name}"`),
      );
    }
    lines.push(
      `add chain ${ingressTable} ingress_${index} { type filter hook ingress device "${name}" priority -10 ; }`,
      `add rule ${ingressTable} ingress_${index} ether saddr @node_links return`,
      `add rule ${ingressTable} ingress_${index} meta protocol ip jump pass4_${index}`,
      `add rule ${ingressTable} ingress_${index} meta protocol ip6 jump pass6_${index}`,
    );
  }
  return lines;
}

export function ingressRemoval(): string[] {
  return [`add table ${ingressTable}`, `delete table ${ingressTable}`];
}

/** Returns lines that delete and add elements, with at most `perStatement` in one statement. */
export function ingressChanges(
  deletes: readonly Omit<IngressElement, 'value'>[],
  adds: readonly IngressElement[],
  perStatement: number,
): string[] {
  const lines: string[] = [];
  const write = (verb: string, map: string, texts: readonly string[]): void => {
    for (let start = 0; start < texts.length; start += perStatement)
      lines.push(`${verb} element ${ingressTable} ${map} { ${texts.slice(start, start + perStatement).join(' , ')} }`);
  };
  for (const [map, group] of Map.groupBy(deletes, ({ map }) => map)) {
    write(
      'delete',
      map,
      group.map(({ key }) => key),
    );
  }
  for (const [map, group] of Map.groupBy(adds, ({ map }) => map)) {
    write(
      'add',
      map,
      group.map(({ key, value }) => `${key} : ${value}`),
    );
  }
  return lines;
}
