import { describe, expect, test } from 'vitest';
import { planAllowances } from '../../../../src/decisions/host/filter-allowances.ts';
import { allowanceChain, type FilterAction, type FilterRule, type HostFilter } from '../../../../src/net/host-filter.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';

type Packets = FilterRule['packets'];
const rule = (packets: Packets, action: FilterAction): FilterRule => ({ packets, action, conditions: [], number: 1, text: '' });
const accept = (packets: Packets): FilterRule => rule(packets, { kind: 'accept' });
const to = (...prefixes: string[]): Packets => ({ to: prefixes.map((text) => prefix(text)) });
const jump = (chain: string): FilterRule => rule('all', { kind: 'jump', chain });
const reject = rule('all', { kind: 'reject' });

function filter(chains: Readonly<Record<string, readonly FilterRule[]>>, more: Partial<HostFilter> = {}): HostFilter {
  const base = { hook: 'forward', priority: 0, backend: 'nft', family: 'inet', table: 'hand', chain: 'forward', policy: 'drop' } as const;
  return { ...base, chains: new Map(Object.entries(chains)), ...more };
}

const iptables: Partial<HostFilter> = { family: 'ip', table: 'filter', chain: 'FORWARD' };
const pods = ['10.244.1.0/24', 'fd00:244:1::/64'];

/** Returns each change as text: the program, the chains that lose a jump, the chain that gets one, and what is accepted. */
const planned = (one: HostFilter, { of = pods, isWanted = true } = {}): string[] =>
  planAllowances(
    [one],
    of.map((text) => prefix(text)),
    isWanted,
  ).map(({ by, from, to: entry }) => {
    const accepted = entry && [...(entry.allowance.translated ? ['translated'] : []), ...entry.allowance.pods.map(formatPrefix)];
    return [by, `-${from.join()}`, entry === undefined ? 'removed' : `+${entry.chain}`, ...(accepted ?? [])].join(' ');
  });

const own = (...rules: FilterRule[]): Record<string, readonly FilterRule[]> => ({ [allowanceChain]: rules });
const complete = own(accept('translated'), accept(to('10.244.1.0/24')), accept(to('fd00:244:1::/64')));

describe('rules in filters of other programs', () => {
  test.each<[what: string, one: HostFilter, changes: string[]]>([
    ['a chain that drops', filter({ forward: [] }), ['nft - +forward translated 10.244.1.0/24 fd00:244:1::/64']],
    ['one of IPv4', filter({ FORWARD: [] }, iptables), ['iptables-nft - +FORWARD translated 10.244.1.0/24']],
    ['one of IPv6', filter({ FORWARD: [] }, { ...iptables, family: 'ip6' }), ['iptables-nft - +FORWARD translated fd00:244:1::/64']],
    [
      'the older tables',
      filter({ FORWARD: [reject] }, { ...iptables, backend: 'iptables' }),
      ['iptables-legacy - +FORWARD translated 10.244.1.0/24'],
    ],
    [
      'a table with the name of that of iptables',
      filter({ forward: [] }, { ...iptables, chain: 'forward' }),
      ['nft - +forward translated 10.244.1.0/24'],
    ],
    [
      'DOCKER-USER',
      filter({ FORWARD: [jump('DOCKER-USER')], 'DOCKER-USER': [] }, iptables),
      ['iptables-nft - +DOCKER-USER translated 10.244.1.0/24'],
    ],
    [
      'a chain that accepts what the node translates',
      filter({ forward: [accept('translated')] }),
      ['nft - +forward 10.244.1.0/24 fd00:244:1::/64'],
    ],
    ['a chain that accepts all', filter({ forward: [accept('all')] }), []],
    ['firewalld', filter({ filter_FORWARD: [reject] }, { table: 'firewalld', chain: 'filter_FORWARD' }), []],
    ['a chain on the input hook', filter({ input: [] }, { hook: 'input', chain: 'input' }), []],
    ['complete rules', filter({ forward: [jump(allowanceChain), reject], ...complete }), []],
    [
      'rules behind a drop',
      filter({ forward: [reject, jump(allowanceChain)], ...complete }),
      ['nft -forward +forward translated 10.244.1.0/24 fd00:244:1::/64'],
    ],
    [
      'rules for fewer pods',
      filter({ forward: [jump(allowanceChain)], ...own(accept('translated')) }),
      ['nft -forward +forward translated 10.244.1.0/24 fd00:244:1::/64'],
    ],
    [
      'rules that are not needed any more',
      filter({ forward: [jump(allowanceChain), accept('all')], ...complete }),
      ['nft -forward removed'],
    ],
  ])('%s', (_, one, changes) => {
    expect(planned(one)).toEqual(changes);
  });

  test('rules for pods that are no longer there are replaced', () => {
    const one = filter({ forward: [jump(allowanceChain)], ...complete });
    expect(planned(one, { of: ['10.244.1.0/24'] })).toEqual(['nft -forward +forward translated 10.244.1.0/24']);
  });

  test('rules are removed where they are not wanted, and nothing is inserted', () => {
    expect(planned(filter({ forward: [jump(allowanceChain)], ...complete }), { isWanted: false })).toEqual(['nft -forward removed']);
    expect(planned(filter({ forward: [] }), { isWanted: false })).toEqual([]);
  });
});
