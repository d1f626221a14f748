import type { FilterAction, FilterRule, ForwardFilter } from '../../net/forward-filter.ts';

/** Reads what `iptables-legacy -t filter -S` prints: the arguments that would make the table. Undefined: there is no FORWARD. */
export function readLegacyTable(text: string, family: 'ip' | 'ip6'): ForwardFilter | undefined {
  let policy: ForwardFilter['policy'] | undefined;
  const chains = new Map<string, FilterRule[]>();
  for (const line of text.split('\n')) {
    const [verb, chain = '', ...rest] = line.trim().split(/\s+/);
    if (verb === '-P' && chain === 'FORWARD') policy = rest[0] === 'DROP' ? 'drop' : 'accept';
    if (verb === '-A') chains.set(chain, [...(chains.get(chain) ?? []), readRule(rest)]);
  }
  return policy === undefined ? undefined : { backend: 'iptables', family, table: 'filter', chain: 'FORWARD', policy, chains };
}

const verdicts: Readonly<Record<string, FilterAction>> = {
  ACCEPT: { kind: 'accept' },
  DROP: { kind: 'drop' },
  REJECT: { kind: 'reject' },
  RETURN: { kind: 'return' },
};

/** Targets that let the packet go on. */
const passive = new Set(['LOG', 'NFLOG', 'MARK', 'CONNMARK', 'TCPMSS', 'TRACE', 'ULOG', 'AUDIT', 'DSCP', 'CLASSIFY', 'SECMARK']);

function readRule(args: readonly string[]): FilterRule {
  const at = args.findIndex((arg) => arg === '-j' || arg === '-g');
  const conditions = withoutComment(at < 0 ? args : args.slice(0, at));
  const packets = conditions === '' ? 'all' : conditions === '-m conntrack --ctstate DNAT' ? 'translated' : 'some';
  const target = args[at + 1];
  if (at < 0 || target === undefined || passive.has(target)) return { packets, action: { kind: 'none' } };
  return { packets, action: verdicts[target] ?? { kind: args[at] === '-g' ? 'goto' : 'jump', chain: target } };
}

function withoutComment(args: readonly string[]): string {
  return args
    .join(' ')
    .replaceAll(/-m comment --comment (?:"(?:[^"\\]|\\.)*"|\S+) ?/g, '')
    .trim();
}
