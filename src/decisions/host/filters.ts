import { reason, type Reason } from '../../model/reasons.ts';
import type { FilterRule, HostFilter } from '../../net/host-filter.ts';
import type { BlockedFamily } from './blocked-by-settings.ts';

/** Bounds the walk through reported chains. The kernel itself refuses chains that lead to each other in a circle. */
const maximumDepth = 16;

/** TCP ports on which others reach this node, each with its purpose. */
export type ServedPorts = ReadonlyMap<number, string>;

/**
 * Finds chains that drop packets of forwarded Services, or new connections to this node's own ports. A chain counts as closed when nothing
 * in it accepts every such packet before its policy, or a rule for all packets, drops or rejects it. Rules with further conditions are not
 * judged, and the text says so.
 */
export function judgeFilters(filters: readonly HostFilter[], served: ServedPorts): Reason[] {
  return filters.flatMap((filter) => (filter.hook === 'forward' ? judgeForward(filter) : judgeInput(filter, served)));
}

/** Returns the families that a chain certainly drops, with the reason of `judgeFilters`: no rule before might accept some. */
export function blockedByFilters(filters: readonly HostFilter[]): BlockedFamily[] {
  return filters.flatMap((filter) => {
    const [because] = filter.hook === 'forward' && dropsAll(filter, filter.chain, 0) !== 'maybe' ? judgeForward(filter) : [];
    const families = filter.family === 'inet' ? ([4, 6] as const) : ([filter.family === 'ip' ? 4 : 6] as const);
    return because === undefined ? [] : families.map((family) => ({ family, reason: because }));
  });
}

/** Follows a packet from a client until a rule decides about it. `maybe`: a rule that may match it might accept it. */
function dropsAll(filter: HostFilter, chain: string, depth: number): 'decided' | 'maybe' | 'goesOn' {
  for (const { packets, action } of filter.chains.get(chain) ?? []) {
    if (packets === 'others' || action.kind === 'none') continue;
    if (!matches(packets, 'translated')) {
      if (action.kind === 'drop' || action.kind === 'reject') continue;
      return 'maybe';
    }
    if (action.kind === 'return') return 'goesOn';
    if (!('chain' in action)) return 'decided';
    const inside = depth < maximumDepth ? dropsAll(filter, action.chain, depth + 1) : 'maybe';
    if (inside !== 'goesOn') return inside;
    if (action.kind === 'goto') return 'goesOn';
  }
  return 'goesOn';
}

function judgeForward(filter: HostFilter): Reason[] {
  const how = howClosed(filter, 'translated');
  return how === undefined ? [] : [reason('ForwardFilterDrops', { chain: nameOf(filter), how, remedy: remedyFor(filter, []) })];
}

/** Gives one reason for all ports that are dropped in the same way. */
function judgeInput(filter: HostFilter, served: ServedPorts): Reason[] {
  const closed = [...served.keys()].toSorted((a, b) => a - b).flatMap((port) => ({ port, how: howClosed(filter, port) }));
  return [...Map.groupBy(closed, ({ how }) => how)].flatMap(([how, group]) => {
    if (how === undefined) return [];
    const ports = group.map(({ port }) => port);
    const named = ports.slice(0, namedPorts).map((port) => `${port} (${served.get(port)})`);
    const more = ports.length > namedPorts ? ` and ${ports.length - namedPorts} more` : '';
    const details = { chain: nameOf(filter), ports: `${named.join(', ')}${more}`, how, remedy: remedyFor(filter, ports) };
    return [reason('InputFilterDrops', details)];
  });
}

/** True when forwarded packets without connection tracking are dropped, by the rules of `judgeFilters`. */
export function dropsUntracked(filter: HostFilter): boolean {
  return filter.hook === 'forward' && howClosed(filter, 'untracked') !== undefined;
}

/** A report names only some of the Services. */
const namedPorts = 5;

/** A packet of a translated connection, an untracked packet, or the first packet of a TCP connection to this port. */
type Judged = 'translated' | 'untracked' | number;
const fates = { accept: 'accepted', drop: 'dropped', reject: 'rejected', return: 'goesOn' } as const;
type Fate = (typeof fates)[keyof typeof fates];

/** Describes how the packet is dropped. Undefined when it is not. */
function howClosed(filter: HostFilter, packet: Judged): string | undefined {
  const fate = fateIn(filter, filter.chain, packet, 0);
  if (fate === 'accepted' || (fate === 'goesOn' && filter.policy === 'accept')) return undefined;
  return fate === 'goesOn' ? 'its policy is drop' : `a rule for all packets ${fate === 'dropped' ? 'drops' : 'rejects'} them`;
}

/** Returns the packet's fate, counting only rules that match every such packet. */
function fateIn(filter: HostFilter, chain: string, packet: Judged, depth: number): Fate {
  for (const { packets, action } of filter.chains.get(chain) ?? []) {
    if (!matches(packets, packet) || action.kind === 'none') continue;
    if (!('chain' in action)) return fates[action.kind];
    const fate = depth < maximumDepth ? fateIn(filter, action.chain, packet, depth + 1) : 'goesOn';
    if (fate !== 'goesOn' || action.kind === 'goto') return fate;
  }
  return 'goesOn';
}

function matches(packets: FilterRule['packets'], packet: Judged): boolean {
  if (packets === 'all' || packets === packet) return true;
  if (typeof packets === 'string' || typeof packet === 'string') return false;
  return packets.some(({ first, last }) => first <= packet && packet <= last);
}

function nameOf({ backend, family, table, chain }: HostFilter): string {
  return backend === 'nft'
    ? `${chain} of table ${family} ${table}`
    : `${chain} of ${family === 'ip6' ? 'ip6tables-legacy' : 'iptables-legacy'}`;
}

/** Ports that iptables takes in one rule (extension multiport). */
const portsOfACommand = 15;

/** Returns the fix, as a command of the program whose chain drops if names reveal it. `ports` are TCP ports of this node. */
function remedyFor(filter: HostFilter, ports: readonly number[]): string {
  const forward = filter.hook === 'forward';
  const { backend, family, table, chain } = filter;
  const some = ports.slice(0, portsOfACommand);
  const jumps = [...filter.chains.values()].flat().flatMap(({ action }: FilterRule) => ('chain' in action ? [action.chain] : []));
  const iptables = `${family === 'ip6' ? 'ip6tables' : 'iptables'}${backend === 'iptables' ? '-legacy' : ''}`;
  if (table === 'firewalld') {
    return forward
      ? 'set StrictForwardPorts=no in /etc/firewalld/firewalld.conf and run: firewall-cmd --reload'
      : `run: firewall-cmd --permanent ${some.map((port) => `--add-port=${port}/tcp`).join(' ')}, then: firewall-cmd --reload`;
  }
  if (jumps.some((name) => name.startsWith('ufw')))
    return forward ? 'run: ufw default allow routed' : `run: ufw allow ${some.join(',')}/tcp`;
  if (forward && jumps.includes('DOCKER-USER')) {
    return `run: ${iptables} -I DOCKER-USER -j ACCEPT; or set "ip-forward-no-drop": true in /etc/docker/daemon.json (Docker 28)`;
  }
  // Tables made by iptables must not get nft rules: iptables could not read them any more.
  if (table === 'filter' && family !== 'inet') {
    if (chain === 'FORWARD') return `run: ${iptables} -P FORWARD ACCEPT`;
    if (chain === 'INPUT') return `run: ${iptables} -I INPUT -p tcp -m multiport --dports ${some.join(',')} -j ACCEPT`;
  }
  return `run: nft insert rule ${family} ${table} ${chain} ${forward ? 'ct status dnat' : `tcp dport { ${some.join(', ')} }`} accept`;
}
