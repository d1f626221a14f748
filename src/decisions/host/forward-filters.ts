import { reason, type Reason } from '../../model/reasons.ts';
import type { FilterRule, ForwardFilter } from '../../net/forward-filter.ts';

/** Chains that lead to each other in a circle are refused by the kernel; this is a bound for what we were told. */
const maximumDepth = 16;

/**
 * What drops the packets of Services that this node forwards. A chain counts as closed where nothing in it accepts every
 * packet, or every packet of a translated connection, before its policy, or a rule for all packets, drops or rejects
 * them. Rules with other conditions are not judged: the text says so.
 */
export function judgeForwardFilters(filters: readonly ForwardFilter[]): Reason[] {
  return filters.flatMap((filter) => {
    const verdict = fateIn(filter, 'translated', filter.chain, 0);
    if (verdict === 'accepted') return [];
    if (verdict === 'goesOn' && filter.policy === 'accept') return [];
    const how = verdict === 'goesOn' ? 'its policy is drop' : `a rule for all packets ${verdict === 'dropped' ? 'drops' : 'rejects'} them`;
    return [reason('ForwardFilterDrops', { chain: nameOf(filter), how, remedy: remedyFor(filter) })];
  });
}

/** Whether it drops packets that connection tracking was told to leave alone, by what `judgeForwardFilters` goes by. */
export function dropsUntracked(filter: ForwardFilter): boolean {
  const fate = fateIn(filter, 'untracked', filter.chain, 0);
  return fate === 'dropped' || fate === 'rejected' || (fate === 'goesOn' && filter.policy === 'drop');
}

type Fate = 'accepted' | 'dropped' | 'rejected' | 'goesOn';

/** What becomes of such a packet, which only rules for all packets, or for all of its kind, match. */
function fateIn(filter: ForwardFilter, packet: 'translated' | 'untracked', chain: string, depth: number): Fate {
  for (const { packets, action } of filter.chains.get(chain) ?? []) {
    if ((packets !== 'all' && packets !== packet) || action.kind === 'none') continue;
    switch (action.kind) {
      case 'accept':
        return 'accepted';
      case 'drop':
        return 'dropped';
      case 'reject':
        return 'rejected';
      case 'return':
        return 'goesOn';
      case 'jump':
      case 'goto': {
        const fate = depth < maximumDepth ? fateIn(filter, packet, action.chain, depth + 1) : 'goesOn';
        if (fate !== 'goesOn' || action.kind === 'goto') return fate;
      }
    }
  }
  return 'goesOn';
}

function nameOf({ backend, family, table, chain }: ForwardFilter): string {
  return backend === 'nft'
    ? `${chain} of table ${family} ${table}`
    : `${chain} of ${family === 'ip6' ? 'ip6tables-legacy' : 'iptables-legacy'}`;
}

/** What to do, in the words of the program whose chain it is, as far as its names tell. */
function remedyFor(filter: ForwardFilter): string {
  const { backend, family, table, chain } = filter;
  const jumps = [...filter.chains.values()].flat().flatMap(({ action }: FilterRule) => ('chain' in action ? [action.chain] : []));
  const iptables = `${family === 'ip6' ? 'ip6tables' : 'iptables'}${backend === 'iptables' ? '-legacy' : ''}`;
  if (table === 'firewalld') return 'set StrictForwardPorts=no in /etc/firewalld/firewalld.conf and run: firewall-cmd --reload';
  if (jumps.some((name) => name.startsWith('ufw'))) return 'run: ufw default allow routed';
  if (jumps.includes('DOCKER-USER')) {
    return `run: ${iptables} -I DOCKER-USER -j ACCEPT; or set "ip-forward-no-drop": true in /etc/docker/daemon.json (Docker 28)`;
  }
  // Tables that iptables made must not get rules of nft: iptables could not read them any more.
  if (chain === 'FORWARD' && table === 'filter' && family !== 'inet') return `run: ${iptables} -P FORWARD ACCEPT`;
  return `run: nft insert rule ${family} ${table} ${chain} ct status dnat accept`;
}
