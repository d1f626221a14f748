import { formatAddress, type Address } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { HostFilter } from '../../net/host-filter.ts';
import type { Prefix } from '../../net/prefix.ts';
import { iptablesFor, isOfUfw, nftSet, portsOfACommand, remedyForServices } from './filters.ts';

export interface DroppedTarget {
  readonly protocol: Protocol;
  readonly address: Address;
  readonly port: number;
}

interface DroppedPackets {
  readonly filter: HostFilter;
  /** The destinations of the packets, as the filter sees them. */
  readonly targets: readonly DroppedTarget[];
  /** Another node has translated them. */
  readonly isPassed: boolean;
  /** The policy of the chain drops them, not a rule. */
  readonly isPolicy: boolean;
  /** Prefixes of this node's pods to which other nodes pass connections. */
  readonly pods: readonly Prefix[];
}

/** Addresses that a command names. */
const addressesOfACommand = 8;

/** Returns the fix for a chain that drops packets of a Service, as a command of the program whose chain it is, as far as names reveal it. */
export function serviceFilterRemedy({ filter, targets, isPassed, isPolicy, pods }: DroppedPackets): string {
  const { hook, family, table, chain } = filter;
  const isIptables = isOfIptablesTable(filter);
  if (hook === 'forward' && isIptables && table !== 'filter' && !isPassed)
    return `run: ${iptablesFor(filter)} -t ${table} -I ${chain} -m conntrack --ctstate DNAT -j ACCEPT`;
  if (hook === 'forward' && (!isPassed || (isPolicy && pods.length > 0))) return remedyForServices(filter, isPolicy, pods, !isPassed);
  const byProtocol = [...Map.groupBy(targets, ({ protocol, address }) => `${protocol} ${address.family}`).values()];
  if (hook === 'input' && table === 'firewalld') {
    const ports = [...new Set(targets.map(({ protocol, port }) => `--add-port=${port}/${protocol.toLowerCase()}`))];
    return `run: firewall-cmd --permanent ${ports.slice(0, portsOfACommand).join(' ')}, then: firewall-cmd --reload`;
  }
  if (hook === 'input' && isOfUfw(filter)) {
    const ports = [...new Set(targets.map(({ protocol, port }) => `ufw allow ${port}/${protocol.toLowerCase()}`))];
    return `run: ${ports.slice(0, portsOfACommand).join(' && ')}`;
  }
  const commands = byProtocol.map((some) => {
    const protocol = some[0]?.protocol.toLowerCase() ?? 'tcp';
    const addresses = [...new Set(some.map(({ address }) => formatAddress(address)))].slice(0, addressesOfACommand);
    const ports = [...new Set(some.map(({ port }) => port))].slice(0, portsOfACommand);
    if (isIptables) {
      const place = table === 'filter' ? `-I ${chain}` : `-t ${table} -I ${chain}`;
      return `${iptablesFor(filter)} ${place} -d ${addresses.join(',')} -p ${protocol} -m multiport --dports ${ports.join(',')} -j ACCEPT`;
    }
    const word = some[0]?.address.family === 6 ? 'ip6' : 'ip';
    return `nft insert rule ${family} ${table} ${chain} ${word} daddr ${nftSet(addresses)} ${protocol} dport ${nftSet(ports)} accept`;
  });
  return `run: ${commands.join(' && ')}`;
}

/** Tables made by iptables must not get nft rules: iptables could not read them any more. */
function isOfIptablesTable({ table, family, chain, backend }: HostFilter): boolean {
  return backend === 'iptables' || (family !== 'inet' && tables.has(table) && /^[A-Z]+$/.test(chain));
}

const tables: ReadonlySet<string> = new Set(['raw', 'mangle', 'filter']);
