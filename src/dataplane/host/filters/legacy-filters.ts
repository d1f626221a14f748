import type { FilterAction, FilterCondition, FilterRule, HostFilter, PortRange } from '../../../net/host-filter.ts';
import { parsePrefix, prefix } from '../../../net/prefix.ts';
import { limits } from '../limits.ts';
import { rateExtensions, rateOfExtension } from './rate-conditions.ts';
import { packetsOf } from './rule-packets.ts';

/** The base chains of iptables' tables that filter, with their hooks and priorities (ip_tables, xtables). */
const baseChains = {
  raw: [['PREROUTING', 'prerouting', -300]],
  mangle: [
    ['PREROUTING', 'prerouting', -150],
    ['FORWARD', 'forward', -150],
    ['INPUT', 'input', -150],
  ],
  filter: [
    ['FORWARD', 'forward', 0],
    ['INPUT', 'input', 0],
  ],
} as const;

export type IptablesTable = keyof typeof baseChains;
export const iptablesTables = Object.keys(baseChains) as readonly IptablesTable[];

/** Reads the output of `iptables-legacy -t TABLE -S`: the arguments that would create the table. Returns one filter for each base chain. */
export function readLegacyTable(text: string, family: 'ip' | 'ip6', table: IptablesTable = 'filter'): HostFilter[] {
  const { policies, chains } = readTable(text);
  return baseChains[table].flatMap(([chain, hook, priority]): HostFilter[] => {
    const policy = policies.get(chain);
    return policy === undefined ? [] : [{ hook, priority, backend: 'iptables', family, table, chain, policy, chains }];
  });
}

/** Returns a filter for each base chain of a table whose rules cannot be read, and why. */
export function unreadLegacyTable(family: 'ip' | 'ip6', table: IptablesTable, unread: string): HostFilter[] {
  return baseChains[table].map(([chain, hook, priority]) => ({
    hook,
    priority,
    backend: 'iptables',
    family,
    table,
    chain,
    policy: 'accept',
    unread,
    chains: new Map(),
  }));
}

/** Reads the rules of every chain from the output of `iptables -S`. */
export function readTable(text: string): {
  readonly policies: ReadonlyMap<string, HostFilter['policy']>;
  readonly chains: ReadonlyMap<string, readonly FilterRule[]>;
} {
  const policies = new Map<string, HostFilter['policy']>();
  const chains = new Map<string, FilterRule[]>();
  for (const line of text.split('\n')) {
    const [verb, chain = '', ...rest] = wordsOf(line);
    const rules = chains.get(chain) ?? [];
    if (verb === '-P') policies.set(chain, rest[0] === 'DROP' ? 'drop' : 'accept');
    if (verb === '-P' || verb === '-N') chains.set(chain, rules);
    if (verb === '-A') chains.set(chain, [...rules, readRule(rest, rules.length + 1)]);
  }
  return { policies, chains };
}

/** Splits a line at spaces outside of quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"(?:[^"\\]|\\.)*"|\S+/g)].map(([word]) => word);
}

const verdicts: Readonly<Record<string, FilterAction>> = {
  ACCEPT: { kind: 'accept' },
  DROP: { kind: 'drop' },
  REJECT: { kind: 'reject' },
  RETURN: { kind: 'return' },
};

/** Targets by which another program decides, or which take the packet out of its way. */
export const decidingTargets: ReadonlySet<string> = new Set(['NFQUEUE', 'QUEUE', 'TPROXY', 'SYNPROXY']);

/** Targets after which the packet continues with the next rule. */
const passive: ReadonlySet<string> = new Set(
  'LOG NFLOG MARK CONNMARK TCPMSS TRACE ULOG AUDIT DSCP TOS CLASSIFY SECMARK CONNSECMARK CT CHECKSUM HL TTL SET TEE NOTRACK'.split(' '),
);

function readRule(words: readonly string[], number: number): FilterRule {
  const at = words.findIndex((word) => word === '-j' || word === '-g');
  const conditions = conditionsOf(at < 0 ? words : words.slice(0, at));
  const target = words[at + 1];
  const packets = packetsOf(conditions);
  const text = words.join(' ').slice(0, limits.ruleText);
  const rule = { packets, conditions, number, text };
  if (at < 0 || target === undefined || passive.has(target)) return { ...rule, action: { kind: 'none' } };
  if (decidingTargets.has(target)) return { ...rule, action: { kind: 'unknown' } };
  return { ...rule, action: verdicts[target] ?? { kind: words[at] === '-g' ? 'goto' : 'jump', chain: target } };
}

/** Extensions whose options are read, or have no effect on the match. */
const readExtensions: ReadonlySet<string> = new Set(['comment', 'tcp', 'udp', 'sctp', 'multiport', 'conntrack', 'state']);

function conditionsOf(words: readonly string[]): FilterCondition[] {
  const conditions: FilterCondition[] = [];
  let negated = false;
  let extension = '';
  const options = new Map<string, string>();
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '!') {
      negated = true;
      continue;
    }
    const value = words[at + 1] ?? '';
    if (word === '-m') {
      extension = value;
      if (rateExtensions.has(value)) options.set('-m', value);
      else if (!readExtensions.has(value)) conditions.push({ field: 'other', looksAt: `the extension ${value} of iptables` });
      at++;
    } else if (word.startsWith('-')) {
      const takesValue = value !== '' && value !== '!' && !value.startsWith('-');
      const isCovered = word === '--comment' || (extension !== '' && !readExtensions.has(extension) && word.startsWith('--'));
      if (!isCovered) conditions.push(...conditionOf(word, value, negated, words[at + 2]));
      if (rateExtensions.has(extension) && word.startsWith('--')) options.set(word, negated ? '' : value);
      if (takesValue) at += word === '--tcp-flags' ? 2 : 1;
    }
    negated = false;
  }
  return options.size === 0 ? conditions : [...conditions, shareOf(options)];
}

function shareOf(options: ReadonlyMap<string, string>): FilterCondition {
  return rateOfExtension(options) ?? { field: 'other', looksAt: `the extension ${options.get('-m')} of iptables` };
}

/** The flags that the first packet of a TCP connection has, among those that are looked at. */
const isFirst = (mask: string, flags: string | undefined): boolean => flags === 'SYN' && mask.split(',').includes('SYN');

/** `second`: the word after the value. */
function conditionOf(option: string, value: string, negated: boolean, second: string | undefined): FilterCondition[] {
  const other: FilterCondition = { field: 'other', looksAt: option };
  if ((option === '-s' || option === '-d') && !parsePrefix(value).ok) return [other];
  switch (option) {
    case '-s':
      return [{ field: 'source', prefixes: [prefix(value)], negated }];
    case '-d':
      return [{ field: 'destination', prefixes: [prefix(value)], negated }];
    case '-i':
      return [{ field: 'interface', names: [value.replace(/\+$/, '*')], negated }];
    case '-o':
      return [{ field: 'outInterface', names: [value.replace(/\+$/, '*')], negated }];
    case '-p':
      return [{ field: 'protocol', names: [value], negated }];
    case '--dport':
    case '--dports':
      return [{ field: 'port', ranges: value.split(',').map(rangeOf), negated }];
    case '--sport':
    case '--sports':
      return [{ field: 'sourcePort', ranges: value.split(',').map(rangeOf), negated }];
    case '--syn':
      return negated ? [other] : [];
    case '--tcp-flags':
      return !negated && isFirst(value, second) ? [] : [other];
    case '--state':
    case '--ctstate':
      return [stateCondition(value, negated) ?? other];
    default:
      return [other];
  }
}

function rangeOf(text: string): PortRange {
  const [first = 0, last = first] = text.split(':').map(Number);
  return { first, last };
}

/** DNAT is a status, which the other words are not. */
function stateCondition(value: string, negated: boolean): FilterCondition | undefined {
  if (value === 'DNAT') return { field: 'translated', negated };
  const states = value.toLowerCase().split(',');
  return states.includes('dnat') || states.includes('snat') ? undefined : { field: 'state', states, negated };
}
