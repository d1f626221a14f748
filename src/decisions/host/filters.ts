import { reason, type Reason } from '../../model/reasons.ts';
import type { Allowance, FilterRule, HostFilter, PacketsTo } from '../../net/host-filter.ts';
import type { Family } from '../../net/address.ts';
import { familyOf, formatPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { BlockedFamily } from './blocked-by-settings.ts';

/** Bounds the walk through reported chains. The kernel itself refuses chains that lead to each other in a circle. */
const maximumDepth = 16;

/** TCP ports on which others reach this node, each with its purpose. */
export type ServedPorts = ReadonlyMap<number, string>;

/**
 * Finds chains that drop packets of forwarded Services, or new connections to this node's own ports. A chain counts as closed when nothing
 * in it accepts every such packet before its policy, or a rule for all packets, drops or rejects it. Rules with further conditions are not
 * judged, and the text says so. `pods`: prefixes of this node's pods to which other nodes pass connections that they have translated.
 */
export function judgeFilters(filters: readonly HostFilter[], served: ServedPorts, pods: readonly Prefix[] = []): Reason[] {
  const unread = Map.groupBy(filters, (filter) => filter.unread);
  const reasons = [...unread].flatMap(([why, some]) => {
    const tables = new Set(some.map(({ family, table }) => `${table} of ${family === 'ip6' ? 'ip6tables' : 'iptables'}`));
    return why === undefined ? [] : [reason('FilterTablesUnread', { tables: [...tables].join(' and '), why })];
  });
  const judged = filters.flatMap((filter) => {
    if (filter.hook === 'forward') return judgeForward(filter, pods);
    return filter.hook === 'input' ? judgeInput(filter, served) : [];
  });
  return [...judged, ...reasons];
}

/**
 * Returns the families that a chain certainly drops, with the same reason that `judgeFilters` gives: no rule that might accept some of the
 * packets comes before the drop.
 */
export function blockedByFilters(filters: readonly HostFilter[], pods: readonly Prefix[] = []): BlockedFamily[] {
  return filters.flatMap((filter) => {
    const isCertain = filter.hook === 'forward' && dropsAll(filter, 'translated', filter.chain) !== 'maybe';
    const because = isCertain ? judgeTranslated(filter, pods) : undefined;
    const families = familiesOf(filter);
    return because === undefined ? [] : families.map((family) => ({ family, reason: because }));
  });
}

/** Follows a packet from a client until a rule decides about it. `maybe`: a rule that may match it might accept it. */
function dropsAll(filter: HostFilter, packet: Judged, chain: string, depth = 0): 'decided' | 'maybe' | 'goesOn' {
  for (const { packets, action } of filter.chains.get(chain) ?? []) {
    if (packets === 'others' || action.kind === 'none' || cannotMatch(packets, packet)) continue;
    if (action.kind === 'unknown') return 'maybe';
    if (!matches(packets, packet)) {
      if (action.kind === 'drop' || action.kind === 'reject') continue;
      return 'maybe';
    }
    if (action.kind === 'return') return 'goesOn';
    if (!('chain' in action)) return 'decided';
    const inside = depth < maximumDepth ? dropsAll(filter, packet, action.chain, depth + 1) : 'maybe';
    if (inside !== 'goesOn') return inside;
    if (action.kind === 'goto') return 'goesOn';
  }
  return 'goesOn';
}

/** This node has translated none of the connections that another node passes to pods. */
function cannotMatch(packets: FilterRule['packets'], packet: Judged): boolean {
  if (typeof packet !== 'object') return false;
  if (packets === 'translated') return true;
  if (typeof packets === 'string' || !('to' in packets)) return false;
  return !packets.to.some((one) => packet.to.some((other) => contains(one, other) || contains(other, one)));
}

function judgeForward(filter: HostFilter, pods: readonly Prefix[]): Reason[] {
  const because = judgeTranslated(filter, pods) ?? judgePassed(filter, pods);
  return because === undefined ? [] : [because];
}

/** Returns what would have to be accepted in a chain of the forward hook that drops it. Undefined: nothing. */
export function neededAllowance(filter: HostFilter, pods: readonly Prefix[]): Allowance | undefined {
  if (judgeForward(filter, pods).length === 0) return undefined;
  const passed = podsOf(filter, pods).filter((to) => howClosed(filter, { to }) !== undefined);
  return { translated: howClosed(filter, 'translated') !== undefined, pods: passed.flat() };
}

/**
 * Returns the fix for a chain on the forward hook that drops packets of Services. `isPolicy`: its policy drops them. `translated`: this node
 * has translated them.
 */
export function remedyForServices(filter: HostFilter, isPolicy: boolean, pods: readonly Prefix[], translated: boolean): string {
  const passed = podsOf(filter, pods).filter((to) => howClosed(filter, { to }) !== undefined);
  return forwardRemedy(filter, isPolicy ? closedByPolicy : '', passed, translated);
}

function judgeTranslated(filter: HostFilter, pods: readonly Prefix[]): Reason | undefined {
  const how = howClosed(filter, 'translated');
  if (how === undefined) return undefined;
  const passed = podsOf(filter, pods).filter((to) => howClosed(filter, { to }) !== undefined);
  return reason('ForwardFilterDrops', { chain: filterName(filter), how, remedy: forwardRemedy(filter, how, passed, true) });
}

/**
 * Judges connections to pods of this node that another node has translated. For this node they are connections to pods like any other, so a
 * rule for translated packets does not accept them. Network plugins often have rules that do, with conditions that are not judged here, so
 * only a chain that certainly drops counts, and that of firewalld, which knows no pods unless it was told.
 */
function judgePassed(filter: HostFilter, pods: readonly Prefix[]): Reason | undefined {
  const passed = podsOf(filter, pods).filter((to) => {
    const isCertain = filter.table === 'firewalld' || dropsAll(filter, { to }, filter.chain) !== 'maybe';
    return isCertain && howClosed(filter, { to }) !== undefined;
  });
  const [first] = passed;
  const how = first === undefined ? undefined : howClosed(filter, { to: first });
  if (how === undefined) return undefined;
  const details = { chain: filterName(filter), pods: passed.flat().map(formatPrefix).join(' and '), how };
  return reason('PodFilterDrops', { ...details, remedy: forwardRemedy(filter, how, passed, false) });
}

/** The families that a chain filters. */
export const familiesOf = ({ family }: Pick<HostFilter, 'family'>): readonly Family[] =>
  family === 'ip' ? [4] : family === 'ip6' ? [6] : [4, 6];

/** Returns the prefixes of pods of each family that the chain filters. */
function podsOf(filter: HostFilter, pods: readonly Prefix[]): (readonly Prefix[])[] {
  return familiesOf(filter)
    .map((each) => pods.filter((pod) => familyOf(pod) === each).slice(0, podsOfACommand))
    .filter(({ length }) => length > 0);
}

/** Prefixes of pods of a family that a command names. A node has one. */
const podsOfACommand = 16;

/** Gives one reason for all ports that are dropped in the same way. */
function judgeInput(filter: HostFilter, served: ServedPorts): Reason[] {
  const closed = [...served.keys()].toSorted((a, b) => a - b).flatMap((port) => ({ port, how: howClosed(filter, port) }));
  return [...Map.groupBy(closed, ({ how }) => how)].flatMap(([how, group]) => {
    if (how === undefined) return [];
    const ports = group.map(({ port }) => port);
    const named = ports.slice(0, namedPorts).map((port) => `${port} (${served.get(port)})`);
    const more = ports.length > namedPorts ? ` and ${ports.length - namedPorts} more` : '';
    const details = { chain: filterName(filter), ports: `${named.join(', ')}${more}`, how, remedy: inputRemedy(filter, ports) };
    return [reason('InputFilterDrops', details)];
  });
}

/** True when forwarded packets without connection tracking are dropped, by the rules of `judgeFilters`. */
export function dropsUntracked(filter: HostFilter): boolean {
  return filter.hook === 'forward' && howClosed(filter, 'untracked') !== undefined;
}

/** A report names only some of the Services. */
const namedPorts = 5;

/**
 * A packet of a connection that this node has translated, an untracked packet, the first packet of a TCP connection to this port, or that of a
 * connection to these prefixes.
 */
type Judged = 'translated' | 'untracked' | number | PacketsTo;
const fates = { accept: 'accepted', drop: 'dropped', reject: 'rejected', return: 'goesOn' } as const;
type Fate = (typeof fates)[keyof typeof fates];

const closedByPolicy = 'its policy is drop';

/** Describes how the packet is dropped. Undefined when it is not. */
function howClosed(filter: HostFilter, packet: Judged): string | undefined {
  const fate = fateIn(filter, filter.chain, packet, 0);
  if (fate === 'accepted' || (fate === 'goesOn' && filter.policy === 'accept')) return undefined;
  return fate === 'goesOn' ? closedByPolicy : `a rule for all packets ${fate === 'dropped' ? 'drops' : 'rejects'} them`;
}

/** Returns the packet's fate, counting only rules that match every such packet. */
function fateIn(filter: HostFilter, chain: string, packet: Judged, depth: number): Fate {
  for (const { packets, action } of filter.chains.get(chain) ?? []) {
    if (!matches(packets, packet) || action.kind === 'none' || action.kind === 'unknown') continue;
    if (!('chain' in action)) return fates[action.kind];
    const fate = depth < maximumDepth ? fateIn(filter, action.chain, packet, depth + 1) : 'goesOn';
    if (fate !== 'goesOn' || action.kind === 'goto') return fate;
  }
  return 'goesOn';
}

function matches(packets: FilterRule['packets'], packet: Judged): boolean {
  if (packets === 'all' || packets === packet) return true;
  if (typeof packets === 'string' || typeof packet === 'string') return false;
  if ('to' in packets) return typeof packet === 'object' && packet.to.every((each) => packets.to.some((outer) => contains(outer, each)));
  return typeof packet === 'number' && packets.some(({ first, last }) => first <= packet && packet <= last);
}

const contains = (outer: Prefix, inner: Prefix): boolean => outer.length <= inner.length && prefixContains(outer, inner.address);

/** Names a chain: "forward of table inet filter". */
export function filterName({ backend, family, table, chain }: HostFilter): string {
  const legacy = `${family === 'ip6' ? 'ip6tables-legacy' : 'iptables-legacy'}${table === 'filter' ? '' : ` -t ${table}`}`;
  return backend === 'nft' ? `${chain} of table ${family} ${table}` : `${chain} of ${legacy}`;
}

/** True when packets of the family may meet the chain that `filterName` names: it is not in a table of the other family. */
export const mayMeet = (family: Family, chain: string): boolean =>
  !(family === 4 ? / ip6(tables-legacy$| )/ : / (table ip |iptables-legacy$)/).test(chain);

/** Ports that iptables takes in one rule (extension multiport). */
export const portsOfACommand = 15;

/** Returns the command of iptables for a chain. */
export const iptablesFor = ({ family, backend }: HostFilter): string =>
  `${family === 'ip6' ? 'ip6tables' : 'iptables'}${backend === 'iptables' ? '-legacy' : ''}`;

export const hasJump = ({ chains }: HostFilter, to: (name: string) => boolean): boolean =>
  [...chains.values()].flat().some(({ action }) => 'chain' in action && to(action.chain));
export const isOfUfw = (filter: HostFilter): boolean => hasJump(filter, (name) => name.startsWith('ufw'));
/** Tables made by iptables must not get nft rules: iptables could not read them any more. */
export const isOfIptables = ({ table, family }: HostFilter): boolean => table === 'filter' && (family === 'ip' || family === 'ip6');

/**
 * Returns the fix for a chain on the forward hook, as a command of the program whose chain it is, as far as names reveal it. `pods`: prefixes
 * of pods, by family, that the chain drops connections to. `translated`: it also drops packets that this node translates.
 */
function forwardRemedy(filter: HostFilter, how: string, pods: readonly (readonly Prefix[])[], translated: boolean): string {
  const { family, table, chain } = filter;
  if (table === 'firewalld') {
    const steps = [
      ...(translated ? ['set StrictForwardPorts=no in /etc/firewalld/firewalld.conf'] : []),
      ...(pods.length > 0 ? [`run: ${firewalldCommands(pods.flat()).join(' && ')}`] : []),
    ];
    return `${steps.join(', then ')}${pods.length > 0 ? ' && ' : ' and run: '}firewall-cmd --reload`;
  }
  const iptables = iptablesFor(filter);
  if (isOfUfw(filter)) return 'run: ufw default allow routed';
  if (hasJump(filter, (name) => name === 'DOCKER-USER'))
    return `run: ${iptables} -I DOCKER-USER -j ACCEPT; or set "ip-forward-no-drop": true in /etc/docker/daemon.json (Docker 28)`;
  if (isOfIptables(filter) && chain === 'FORWARD') {
    if (how === closedByPolicy && translated) return `run: ${iptables} -P FORWARD ACCEPT`;
    const insert = `${iptables} -I FORWARD`;
    const rules = pods
      .flat()
      .map(formatPrefix)
      .flatMap((pod) => [`${insert} -d ${pod} -j ACCEPT`, `${insert} -s ${pod} -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT`]);
    return `run: ${[...(translated ? [`${insert} -m conntrack --ctstate DNAT -j ACCEPT`] : []), ...rules].join(' && ')}`;
  }
  const insert = `nft insert rule ${family} ${table} ${chain}`;
  const rules = pods.flatMap((some) => {
    const [protocol, set] = [some[0]?.address.family === 4 ? 'ip' : 'ip6', nftSet(some.map(formatPrefix))];
    return [`${insert} ${protocol} daddr ${set} accept`, `${insert} ${protocol} saddr ${set} ct state established,related accept`];
  });
  return `run: ${[...(translated ? [`${insert} ct status dnat accept`] : []), ...rules].join(' && ')}`;
}

export const nftSet = (members: readonly (string | number)[]): string =>
  members.length === 1 ? String(members[0]) : `{ ${members.join(', ')} }`;

/** Firewalld forwards connections between zones only by a policy. Its zone `trusted` accepts all packets from its sources. */
function firewalldCommands(pods: readonly Prefix[]): string[] {
  const permanent = 'firewall-cmd --permanent';
  return [
    `${permanent} --zone=trusted ${pods.map((pod) => `--add-source=${formatPrefix(pod)}`).join(' ')}`,
    `${permanent} --new-policy=to-pods`,
    `${permanent} --policy=to-pods --add-ingress-zone=ANY`,
    `${permanent} --policy=to-pods --add-egress-zone=trusted`,
    `${permanent} --policy=to-pods --set-target=ACCEPT`,
  ];
}

/** Returns the fix for a chain on the input hook. `ports` are TCP ports of this node. */
function inputRemedy(filter: HostFilter, ports: readonly number[]): string {
  const { family, table, chain } = filter;
  const some = ports.slice(0, portsOfACommand);
  if (table === 'firewalld')
    return `run: firewall-cmd --permanent ${some.map((port) => `--add-port=${port}/tcp`).join(' ')}, then: firewall-cmd --reload`;
  if (isOfUfw(filter)) return `run: ufw allow ${some.join(',')}/tcp`;
  if (isOfIptables(filter) && chain === 'INPUT')
    return `run: ${iptablesFor(filter)} -I INPUT -p tcp -m multiport --dports ${some.join(',')} -j ACCEPT`;
  return `run: nft insert rule ${family} ${table} ${chain} tcp dport { ${some.join(', ')} } accept`;
}
