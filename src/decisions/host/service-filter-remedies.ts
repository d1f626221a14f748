import { formatAddress, type Address } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { HostFilter } from '../../net/host-filter.ts';
import type { Prefix } from '../../net/prefix.ts';
import { hasJump, iptablesFor, isOfUfw, nftSet, portsOfACommand, remedyForServices } from './filters.ts';

export interface DroppedTarget {
  readonly protocol: Protocol;
  readonly address: Address;
  readonly port: number;
  /** An endpoint on this node. */
  readonly local?: boolean;
}

interface DroppedPackets {
  readonly filter: HostFilter;
  /** The destinations of the packets, as the filter sees them. */
  readonly targets: readonly DroppedTarget[];
  /** Another node has translated them. */
  readonly isPassed: boolean;
  /** The policy of the chain drops them, not a rule. */
  readonly isPolicy: boolean;
  /** Other nodes pass connections to endpoints on this one. */
  readonly hasOthers: boolean;
  /** Prefixes of this node's pods to which other nodes pass connections. */
  readonly pods: readonly Prefix[];
}

/** Addresses that a command names. */
const addressesOfACommand = 8;

/** Returns the fix for a chain that drops packets of a Service, as a command of the program whose chain it is, as far as names reveal it. */
export function serviceFilterRemedy({ filter, targets, isPassed, isPolicy, hasOthers, pods }: DroppedPackets): string {
  const { hook, table } = filter;
  const passed = hasOthers && !isPolicy ? targets.filter(({ local }) => local === true) : [];
  if (hook === 'forward' && (!isPassed || (isPolicy && pods.length > 0))) {
    const isPlain = table !== 'firewalld' && !isOfUfw(filter) && !hasJump(filter, (name) => name === 'DOCKER-USER');
    const command = translatedRemedy(filter, isPolicy, pods, !isPassed);
    return isPlain && passed.length > 0 ? `${command} && ${accepting(filter, passed).join(' && ')}` : command;
  }
  // Its chains on this hook drop nothing else.
  if (hook === 'prerouting' && table === 'firewalld')
    return 'set IPv6_rpfilter=no in /etc/firewalld/firewalld.conf and run: firewall-cmd --reload';
  if (hook === 'input' && table === 'firewalld') {
    const ports = [...new Set(targets.map(({ protocol, port }) => `--add-port=${port}/${protocol.toLowerCase()}`))];
    return `run: firewall-cmd --permanent ${ports.slice(0, portsOfACommand).join(' ')}, then: firewall-cmd --reload`;
  }
  if (hook === 'input' && isOfUfw(filter)) {
    const ports = [...new Set(targets.map(({ protocol, port }) => `ufw allow ${port}/${protocol.toLowerCase()}`))];
    return `run: ${ports.slice(0, portsOfACommand).join(' && ')}`;
  }
  return `run: ${accepting(filter, targets).join(' && ')}`;
}

function translatedRemedy(filter: HostFilter, isPolicy: boolean, pods: readonly Prefix[], translated: boolean): string {
  const { table, chain } = filter;
  return isOfIptablesTable(filter) && table !== 'filter'
    ? `run: ${iptablesFor(filter)} -t ${table} -I ${chain} -m conntrack --ctstate DNAT -j ACCEPT`
    : remedyForServices(filter, isPolicy, pods, translated);
}

/** Returns commands after which the chain accepts packets to these destinations. */
function accepting(filter: HostFilter, targets: readonly DroppedTarget[]): string[] {
  const { family, table, chain } = filter;
  const groups = Map.groupBy(targets, ({ protocol, address }) => `${protocol} ${address.family}`);
  return [...groups.values()].map((some) => {
    const protocol = some[0]?.protocol.toLowerCase() ?? 'tcp';
    const addresses = [...new Set(some.map(({ address }) => formatAddress(address)))].slice(0, addressesOfACommand);
    const ports = [...new Set(some.map(({ port }) => port))].slice(0, portsOfACommand);
    if (isOfIptablesTable(filter)) {
      const place = table === 'filter' ? `-I ${chain}` : `-t ${table} -I ${chain}`;
      return `${iptablesFor(filter)} ${place} -d ${addresses.join(',')} -p ${protocol} -m multiport --dports ${ports.join(',')} -j ACCEPT`;
    }
    const word = some[0]?.address.family === 6 ? 'ip6' : 'ip';
    const end = filter.hook === 'egress' ? 's' : 'd';
    return `nft insert rule ${family} ${table} ${chain} ${word} ${end}addr ${nftSet(addresses)} ${protocol} ${end}port ${nftSet(ports)} accept`;
  });
}

/** Tables made by iptables must not get nft rules: iptables could not read them any more. */
function isOfIptablesTable({ table, family, chain, backend }: HostFilter): boolean {
  return backend === 'iptables' || ((family === 'ip' || family === 'ip6') && tables.has(table) && /^[A-Z]+$/.test(chain));
}

const tables: ReadonlySet<string> = new Set(['raw', 'mangle', 'filter']);
