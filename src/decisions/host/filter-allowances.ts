import { allowanceChain, type Allowance, type AllowanceChange, type FilterRule, type HostFilter } from '../../net/host-filter.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import { hasJump, isOfIptables, neededAllowance } from './filters.ts';

/**
 * Returns the changes after which no chain of another program drops packets of Services, as far as Herald may change them: chains of
 * iptables and of plain tables of nft. A filter of firewalld is reported only, because firewalld owns its table. `pods` as for
 * `judgeFilters`. `isWanted` false: Herald's rules are removed.
 */
export function planAllowances(filters: readonly HostFilter[], pods: readonly Prefix[], isWanted: boolean): AllowanceChange[] {
  return filters
    .filter(({ hook, table }) => hook === 'forward' && table !== 'firewalld')
    .flatMap((filter): AllowanceChange[] => {
      const others = withoutHerald(filter);
      const allowance = isWanted ? neededAllowance(others, pods) : undefined;
      const from = [...filter.chains].flatMap(([name, rules]) => (rules.some(leadsToHerald) ? [name] : []));
      const { family, table, chain } = filter;
      const place = { filter: { family, table, chain }, by: programOf(filter), from };
      if (allowance === undefined) return from.length === 0 ? [] : [place];
      const isRight = neededAllowance(filter, pods) === undefined && sameAllowance(allowance, filter.chains.get(allowanceChain) ?? []);
      return isRight ? [] : [{ ...place, to: { chain: entryOf(others), allowance } }];
    });
}

function programOf(filter: HostFilter): AllowanceChange['by'] {
  if (filter.backend === 'iptables') return 'iptables-legacy';
  return isOfIptables(filter) && filter.chain === 'FORWARD' ? 'iptables-nft' : 'nft';
}

/** Docker leaves DOCKER-USER to others and puts it before its own rules, also after a restart. */
function entryOf(filter: HostFilter): string {
  const isDockers = programOf(filter) !== 'nft' && hasJump(filter, (name) => name === 'DOCKER-USER');
  return isDockers ? 'DOCKER-USER' : filter.chain;
}

const leadsToHerald = ({ action }: FilterRule): boolean => 'chain' in action && action.chain === allowanceChain;

function withoutHerald(filter: HostFilter): HostFilter {
  const chains = [...filter.chains].filter(([name]) => name !== allowanceChain);
  return { ...filter, chains: new Map(chains.map(([name, rules]) => [name, rules.filter((rule) => !leadsToHerald(rule))])) };
}

function sameAllowance({ translated, pods }: Allowance, rules: readonly FilterRule[]): boolean {
  const present = rules.flatMap(({ packets }) => (typeof packets === 'object' && 'to' in packets ? packets.to.map(formatPrefix) : []));
  const wanted = pods.map(formatPrefix);
  return rules.some(({ packets }) => packets === 'translated') === translated && present.toSorted().join() === wanted.toSorted().join();
}
