import { describe, expect, test } from 'vitest';
import { readLegacyTable } from '../../../../src/dataplane/host/legacy-filters.ts';
import { forwardChains, rulesOf } from '../../../../src/dataplane/host/nft-filters.ts';
import type { FilterRule } from '../../../../src/net/forward-filter.ts';

const text = ({ packets, action }: FilterRule): string => `${packets} ${action.kind}${'chain' in action ? ` ${action.chain}` : ''}`;

describe('nft', () => {
  const chain = (more: object): object => ({
    chain: { family: 'inet', table: 'filter', name: 'f', handle: 1, type: 'filter', hook: 'forward', prio: 0, policy: 'drop', ...more },
  });

  test('base chains on the forward hook, ours and those of bridges left out', () => {
    const json = {
      nftables: [
        { metainfo: { version: '1.0.6' } },
        chain({}),
        chain({ name: 'open', policy: 'accept', family: 'ip6' }),
        chain({ name: 'in', hook: 'input' }),
        chain({ name: 'nat', type: 'nat' }),
        chain({ name: 'bridge', family: 'bridge' }),
        chain({ table: 'herald' }),
        { chain: { family: 'inet', table: 'filter', name: 'regular', handle: 2 } },
      ],
    };
    expect(forwardChains(json, 'herald')).toEqual([
      { backend: 'nft', family: 'inet', table: 'filter', chain: 'f', policy: 'drop' },
      { backend: 'nft', family: 'ip6', table: 'filter', chain: 'open', policy: 'accept' },
    ]);
    expect(forwardChains('nonsense', 'herald')).toEqual([]);
  });

  /** What nft 1.0.6 prints for these rules. */
  test.each<[string, readonly object[], string]>([
    ['accept', [{ accept: null }], 'all accept'],
    ['counter reject', [{ counter: { packets: 0, bytes: 0 } }, { reject: { type: 'icmp', expr: 'admin-prohibited' } }], 'all reject'],
    [
      'ct status dnat accept',
      [{ match: { op: 'in', left: { ct: { key: 'status' } }, right: 'dnat' } }, { accept: null }],
      'translated accept',
    ],
    [
      'ct state established,related accept',
      [{ match: { op: 'in', left: { ct: { key: 'state' } }, right: ['established', 'related'] } }, { accept: null }],
      'some accept',
    ],
    ['iifname "lo" accept', [{ match: { op: '==', left: { meta: { key: 'iifname' } }, right: 'lo' } }, { accept: null }], 'some accept'],
    [
      'iifname "x" ct status dnat accept',
      [
        { match: { op: '==', left: { meta: { key: 'iifname' } }, right: 'x' } },
        { match: { op: 'in', left: { ct: { key: 'status' } }, right: 'dnat' } },
        { accept: null },
      ],
      'some accept',
    ],
    ['ct status != dnat drop', [{ match: { op: '!=', left: { ct: { key: 'status' } }, right: 'dnat' } }, { drop: null }], 'some drop'],
    ['an iptables match', [{ xt: { type: 'match', name: 'conntrack' } }, { accept: null }], 'some accept'],
    [
      'an iptables REJECT with a comment',
      [{ xt: { type: 'match', name: 'comment' } }, { counter: null }, { xt: { type: 'target', name: 'REJECT' } }],
      'all reject',
    ],
    ['an iptables LOG', [{ xt: { type: 'target', name: 'LOG' } }], 'some none'],
    ['a limit', [{ limit: { rate: 1, per: 'second' } }, { accept: null }], 'some accept'],
    ['a verdict map', [{ vmap: { key: { meta: { key: 'iifname' } }, data: '@m' } }], 'some none'],
    ['jump', [{ counter: null }, { jump: { target: 'DOCKER-USER' } }], 'all jump DOCKER-USER'],
    ['goto', [{ goto: { target: 'other' } }], 'all goto other'],
    ['counter', [{ counter: null }], 'all none'],
  ])('%s', (_, expr, expected) => {
    expect(rulesOf({ nftables: [{ rule: { family: 'ip', table: 't', chain: 'c', handle: 1, expr } }] }).map(text)).toEqual([expected]);
  });
});

describe('legacy iptables', () => {
  test('-S is read: policy, rules and where they lead', () => {
    const output = `-P INPUT ACCEPT
-P FORWARD DROP
-P OUTPUT ACCEPT
-N DOCKER-USER
-A FORWARD -j DOCKER-USER
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -m comment --comment "all that is translated" -m conntrack --ctstate DNAT -j ACCEPT
-A FORWARD -i docker0 -j ACCEPT
-A FORWARD -j LOG
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
-A DOCKER-USER -m comment --comment open -j RETURN
`;
    const filter = readLegacyTable(output, 'ip');
    expect(filter).toMatchObject({ backend: 'iptables', family: 'ip', table: 'filter', chain: 'FORWARD', policy: 'drop' });
    expect(filter?.chains.get('FORWARD')?.map(text)).toEqual([
      'all jump DOCKER-USER',
      'some accept',
      'translated accept',
      'some accept',
      'all none',
      'all reject',
    ]);
    expect(filter?.chains.get('DOCKER-USER')?.map(text)).toEqual(['all return']);
    expect(readLegacyTable('', 'ip')).toBeUndefined();
  });
});
