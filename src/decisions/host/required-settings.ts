import type { ConntrackConfig } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { isLinkLocal, parseAddressLeniently, type Family } from '../../net/address.ts';
import type { DroppingInterface } from '../../net/endpoint-way.ts';
import { dockerBridge } from '../../net/host-filter.ts';
import { matchesInterface } from '../../net/interface-pattern.ts';
import { prefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { HostInterface } from '../../system/host.ts';
import { servedElsewhere } from './node-interfaces.ts';
import { sysctlName, type KernelSetting, type ReadSetting } from './kernel-setting.ts';

export interface HostFacts {
  /** Families that the node may have to forward. */
  readonly families: readonly Family[];
  readonly interfaces: readonly HostInterface[];
  /** Interfaces on which the host learned its default route from router advertisements. */
  readonly advertisedDefault: readonly string[];
  /** Interfaces of BGP peers without a configured address (unnumbered). */
  readonly peerInterfaces: readonly string[];
  /** Interfaces on which the node announces addresses by ARP and NDP. */
  readonly linkInterfaces?: readonly string[];
  readonly podPrefixes: readonly Prefix[];
  readonly podInterfaces?: readonly string[];
  /** Interfaces by which packets for IPv4 endpoints leave, in the order of their need. */
  readonly endpointInterfaces?: readonly string[];
  /** Absent when connection tracking stays as the host has it. */
  readonly conntrack?: ConntrackConfig;
  readonly cores: number;
  /** kube-proxy whose rules are on the host, with its mode: "kube-proxy (iptables)". Absent: there are none. */
  readonly kubeProxy?: string;
}

/** Returns the settings in the order in which they are set. A setting that the kernel lacks (`read` returns undefined) is not required. */
export function requiredSettings(facts: HostFacts): KernelSetting[] {
  const uplinks = uplinksOf(facts);
  return [
    ...(facts.families.includes(4) ? forwarding4(uplinks) : []),
    ...uplinks.map(reversePathFilter),
    ...redirects(facts.linkInterfaces ?? []),
    ...(facts.families.includes(6) ? forwarding6(facts.advertisedDefault) : []),
    setting(
      'net/netfilter/nf_conntrack_tcp_be_liberal',
      '1',
      'a packet outside of the TCP window passes without its translation, and its receiver resets the connection',
    ),
    setting(
      'net/netfilter/nf_conntrack_tcp_loose',
      '1',
      'a connection that routers move to this node in its middle is not picked up, and breaks',
    ),
    {
      ...setting('net/netfilter/nf_conntrack_acct', '1', 'the agent cannot see whether endpoints answer what clients send'),
      isOptional: true as const,
    },
    ...(facts.conntrack === undefined ? [] : conntrackSettings(facts.conntrack, facts.cores)),
    routeLocalnet(facts.kubeProxy),
    ...(facts.families.includes(4) ? answersOf(facts, uplinks) : []),
  ];
}

/** Last, because a node may have more of these interfaces than settings are checked. */
function answersOf({ endpointInterfaces = [] }: HostFacts, uplinks: readonly string[]): KernelSetting[] {
  const others = endpointInterfaces.filter((name) => !uplinks.includes(name));
  return others.map((name) => forwardingOf(name, ', such as answers of endpoints'));
}

/**
 * Returns the interfaces that drop the answers of the IPv4 endpoints to which they lead. With several uplinks, an answer of a machine behind a gateway
 * may come in by another one than packets leave by. IPv6 has one setting for all interfaces. `wrong` has the reasons for wrong settings, by path.
 */
export function droppingAnswers(
  interfaces: readonly string[],
  uplinks: readonly string[],
  wrong: ReadonlyMap<string, Reason>,
): DroppingInterface[] {
  return [...new Set([...uplinks, ...interfaces])].flatMap((name): DroppingInterface[] => {
    const path = forwardingPathOf(name);
    if (!wrong.has(path)) return [];
    const setting = sysctlName({ path });
    const why = `${name} drops what comes in by it, such as answers of endpoints, because ${setting} is 0`;
    const mayComeByAnother = uplinks.length > 1 && uplinks.includes(name);
    return [{ interface: name, families: [4], ...(mayComeByAnother ? { onLinkOnly: true } : {}), why, remedy: `sysctl -w ${setting}=1` }];
  });
}

/** kube-proxy in iptables mode sets it, and NodePorts on localhost end without it. Its nftables mode serves none there. */
function routeLocalnet(kubeProxy: string | undefined): KernelSetting {
  const exposed = 'neighbours can reach what listens on 127.0.0.1 of this node (CVE-2020-8558)';
  const why = `${exposed}; kube-proxy in iptables mode leaves it on, and Herald does not need it`;
  const wanted = { ...setting('net/ipv4/conf/all/route_localnet', '0', why), mayBeSet: false };
  if (kubeProxy === undefined || kubeProxy === 'kube-proxy (nftables)') return wanted;
  return { ...wanted, judgedAs: reason('RouteLocalnetOfKubeProxy', { program: kubeProxy }) };
}

function setting(path: string, wanted: string, why: string): KernelSetting {
  return { path, wanted, why, reads: [path], holds: (read) => read(path) === wanted, mayBeSet: true, after: [] };
}

function forwarding4(uplinks: readonly string[]): KernelSetting[] {
  return [
    setting(forwarding4Path, '1', 'the node drops every IPv4 packet that is not its own'),
    ...uplinks.map((name) => forwardingOf(name)),
  ];
}

/** With forwarding on, the kernel drops a default route from router advertisements unless `accept_ra` is 2: that comes first. */
function forwarding6(advertisedDefault: readonly string[]): KernelSetting[] {
  const advertised = advertisedDefault.map((name) => `net/ipv6/conf/${name}/accept_ra`);
  const why = 'the host would lose its IPv6 default route, as a host that forwards ignores router advertisements';
  const keep = advertised.map((path) => ({ ...setting(path, '2', why), holds: (read: ReadSetting) => read(path) !== '1' }));
  const forwarding = setting(forwarding6Path, '1', 'the node drops every IPv6 packet that is not its own');
  return [...keep, { ...forwarding, after: advertised }];
}

export const forwarding4Path = 'net/ipv4/ip_forward';
export const forwarding6Path = 'net/ipv6/conf/all/forwarding';
export const forwardingPathOf = (uplink: string): string => `net/ipv4/conf/${uplink}/forwarding`;

/** The settings of timeouts below net/netfilter, each with its field of HeraldConfig and the consequence of a wrong value. */
const timeouts: readonly (readonly [name: string, field: keyof ConntrackConfig, why: string])[] = [
  [
    'nf_conntrack_tcp_timeout_established',
    'tcpEstablishedSeconds',
    'connections that are silent are kept for a different time than HeraldConfig says',
  ],
  [
    'nf_conntrack_tcp_timeout_close_wait',
    'tcpCloseWaitSeconds',
    'connections that one side has closed are kept for a different time than HeraldConfig says, and after it the other side cannot send',
  ],
  ['nf_conntrack_udp_timeout', 'udpSeconds', 'UDP flows are kept for a different time than HeraldConfig says'],
  [
    'nf_conntrack_udp_timeout_stream',
    'udpStreamSeconds',
    'UDP flows in both directions are kept for a different time than HeraldConfig says',
  ],
];

/** Returns the connection tracking settings that kube-proxy makes. A value of 0 leaves the setting unchanged. */
function conntrackSettings(config: ConntrackConfig, cores: number): KernelSetting[] {
  return [
    ...maximum(config, cores),
    ...timeouts.flatMap(([name, field, why]) =>
      config[field] === 0 ? [] : [setting(`net/netfilter/${name}`, String(config[field]), why)],
    ),
  ];
}

/**
 * Requires at least this maximum and never lowers it, because another program may need more. The kernel has one value for all network
 * namespaces, and only the initial one can write it.
 */
function maximum({ maxPerCore, min }: ConntrackConfig, cores: number): KernelSetting[] {
  if (maxPerCore === 0) return [];
  const path = 'net/netfilter/nf_conntrack_max';
  const wanted = Math.max(maxPerCore * cores, min);
  const why = 'a busy node drops new connections when the table is full';
  return [{ ...setting(path, String(wanted), why), holds: (read) => Number(read(path)) >= wanted }];
}

/** Setting `all` sets every interface, so an interface that differs was changed on purpose or by mistake. */
function forwardingOf(name: string, example = ''): KernelSetting {
  const path = forwardingPathOf(name);
  return {
    ...setting(path, '1', `the node drops what comes in by ${name} and is not its own${example}`),
    reads: [path, forwarding4Path],
    holds: (read) => read(path) === '1' || read(forwarding4Path) !== '1',
  };
}

/**
 * The kernel uses the greater of `all` and the interface's value: 1 is strict (RFC 3704 2.2), 2 is loose. The interface's own value is set,
 * because `all` would also loosen pod interfaces, where Calico relies on strictness.
 */
function reversePathFilter(name: string): KernelSetting {
  const path = `net/ipv4/conf/${name}/rp_filter`;
  const all = 'net/ipv4/conf/all/rp_filter';
  const why = `clients whose answers leave by another interface than ${name} are dropped when they come in by it`;
  const holds = (read: ReadSetting): boolean => Math.max(Number(read(all) ?? 0), Number(read(path) ?? 0)) !== 1;
  return { ...setting(path, '2', why), reads: [path, all], holds };
}

/** Either value 1 makes the kernel redirect clients of a port without a rule to the address, for which they ask the link. */
function redirects(interfaces: readonly string[]): KernelSetting[] {
  if (interfaces.length === 0) return [];
  const why = (where: string): string => `the kernel answers packets to ports without a rule with ICMP redirects${where}`;
  return ['all', ...interfaces].map((name) =>
    setting(`net/ipv4/conf/${name}/send_redirects`, '0', why(name === 'all' ? ' on every interface' : ` on ${name}`)),
  );
}

/** Returns where clients may arrive: interfaces with an IPv4 network beside the pods', of unnumbered peers, of ARP and NDP. */
export function uplinksOf(
  facts: Omit<HostFacts, 'families' | 'advertisedDefault' | 'endpointInterfaces' | 'conntrack' | 'cores' | 'kubeProxy'>,
): string[] {
  const { interfaces, peerInterfaces, linkInterfaces = [], podPrefixes, podInterfaces = [] } = facts;
  const numbered = interfaces.filter(({ name, address: text, length }) => {
    if (podInterfaces.some((pattern) => matchesInterface(name, pattern))) return false;
    const address = parseAddressLeniently(text);
    if (!address.ok || address.value.family !== 4 || length === 32) return false;
    return !podPrefixes.some((prefix) => prefixContains(prefix, address.value));
  });
  const present = new Set(interfaces.map(({ name }) => name));
  const names = [...numbered.map(({ name }) => name), ...peerInterfaces.filter((name) => present.has(name)), ...linkInterfaces];
  return [...new Set(names)].toSorted();
}

/** Network plugins give it to the host's ends of pods' interfaces (RFC 3927). */
const linkLocal4 = prefix('169.254.0.0/16');

/** Returns every interface by which a client may come: `uplinksOf`, and any other with an address that is not one of pods or of Docker's networks. */
export function entriesOf(facts: Parameters<typeof uplinksOf>[0]): string[] {
  const { interfaces, podPrefixes, podInterfaces = [] } = facts;
  const others = interfaces.filter(({ name, address: text }) => {
    if (servedElsewhere.has(name) || podInterfaces.some((pattern) => matchesInterface(name, pattern))) return false;
    const address = parseAddressLeniently(text);
    if (!address.ok || isLinkLocal(address.value) || prefixContains(linkLocal4, address.value)) return false;
    return !podPrefixes.some((prefix) => prefixContains(prefix, address.value));
  });
  return [...new Set([...uplinksOf(facts), ...others.map(({ name }) => name)])].filter((name) => !dockerBridge.test(name)).toSorted();
}
