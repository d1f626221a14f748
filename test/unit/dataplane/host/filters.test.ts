import { describe, expect, test } from 'vitest';
import { readLegacyTable } from '../../../../src/dataplane/host/legacy-filters.ts';
import { filterChains, rulesOf } from '../../../../src/dataplane/host/nft-filters.ts';
import type { FilterRule } from '../../../../src/net/host-filter.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';

const text = ({ packets, action }: FilterRule): string => {
  const which =
    typeof packets === 'string'
      ? packets
      : 'to' in packets
        ? `to ${packets.to.map(formatPrefix).join()}`
        : packets.map(({ first, last }) => `${first}-${last}`).join();
  return `${which} ${action.kind}${'chain' in action ? ` ${action.chain}` : ''}`;
};

const tcpPort = (right: unknown): object => ({ match: { op: '==', left: { payload: { protocol: 'tcp', field: 'dport' } }, right } });

const daddr = (protocol: 'ip' | 'ip6', right: unknown): object => ({
  match: { op: '==', left: { payload: { protocol, field: 'daddr' } }, right },
});

describe('nft filters', () => {
  const chain = (more: object): object => ({
    chain: { family: 'inet', table: 'filter', name: 'f', handle: 1, type: 'filter', hook: 'forward', prio: 0, policy: 'drop', ...more },
  });

  test('base chains on forward and input are read, except ours and those of bridges', () => {
    const json = {
      nftables: [
        { metainfo: { version: '1.0.6' } },
        chain({}),
        chain({ name: 'open', policy: 'accept', family: 'ip6' }),
        chain({ name: 'in', hook: 'input' }),
        chain({ name: 'out', hook: 'output' }),
        chain({ name: 'nat', type: 'nat' }),
        chain({ name: 'bridge', family: 'bridge' }),
        chain({ table: 'herald' }),
        { chain: { family: 'inet', table: 'filter', name: 'regular', handle: 2 } },
      ],
    };
    expect(filterChains(json, 'herald')).toEqual([
      { hook: 'forward', backend: 'nft', family: 'inet', table: 'filter', chain: 'f', policy: 'drop' },
      { hook: 'forward', backend: 'nft', family: 'ip6', table: 'filter', chain: 'open', policy: 'accept' },
      { hook: 'input', backend: 'nft', family: 'inet', table: 'filter', chain: 'in', policy: 'drop' },
    ]);
    expect(filterChains('nonsense', 'herald')).toEqual([]);
  });

  /** The JSON that nft 1.0.6 prints for these rules. */
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
      'others accept',
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
    [
      'ip daddr 10.244.0.0/16 accept',
      [daddr('ip', { prefix: { addr: '10.244.0.0', len: 16 } }), { accept: null }],
      'to 10.244.0.0/16 accept',
    ],
    [
      'ip6 daddr { fd00:1::/64, fd00:2::7 } jump pods',
      [daddr('ip6', { set: [{ prefix: { addr: 'fd00:1::', len: 64 } }, 'fd00:2::7'] }), { jump: { target: 'pods' } }],
      'to fd00:1::/64,fd00:2::7/128 jump pods',
    ],
    ['ip daddr @pods accept', [daddr('ip', '@pods'), { accept: null }], 'some accept'],
    ['ip daddr 10.0.0.1-10.0.0.9 accept', [daddr('ip', { range: ['10.0.0.1', '10.0.0.9'] }), { accept: null }], 'some accept'],
    ['ip daddr 10.0.0.1 tcp dport 80 drop', [daddr('ip', '10.0.0.1'), tcpPort(80), { drop: null }], 'some drop'],
    ['tcp dport 179 accept', [tcpPort(179), { accept: null }], '179-179 accept'],
    [
      'ct state new,untracked tcp dport { 22, 30000-32767 } accept',
      [
        { match: { op: 'in', left: { ct: { key: 'state' } }, right: ['new', 'untracked'] } },
        tcpPort({ set: [22, { range: [30_000, 32_767] }] }),
        { accept: null },
      ],
      '22-22,30000-32767 accept',
    ],
    [
      'meta l4proto tcp tcp dport 179 accept',
      [{ match: { op: '==', left: { meta: { key: 'l4proto' } }, right: 'tcp' } }, tcpPort(179), { accept: null }],
      '179-179 accept',
    ],
    ['tcp dport @ports accept', [tcpPort('@ports'), { accept: null }], 'some accept'],
    [
      'tcp dport != 22 drop',
      [{ match: { op: '!=', left: { payload: { protocol: 'tcp', field: 'dport' } }, right: 22 } }, { drop: null }],
      'some drop',
    ],
    [
      'udp dport 179 accept',
      [{ match: { op: '==', left: { payload: { protocol: 'udp', field: 'dport' } }, right: 179 } }, { accept: null }],
      'some accept',
    ],
    [
      'iifname "x" tcp dport 179 accept',
      [{ match: { op: '==', left: { meta: { key: 'iifname' } }, right: 'x' } }, tcpPort(179), { accept: null }],
      'some accept',
    ],
    [
      'meta l4proto tcp accept',
      [{ match: { op: '==', left: { meta: { key: 'l4proto' } }, right: 'tcp' } }, { accept: null }],
      'some accept',
    ],
    [
      'ct state established,new accept',
      [{ match: { op: 'in', left: { ct: { key: 'state' } }, right: ['established', 'new'] } }, { accept: null }],
      'some accept',
    ],
    [
      'oifname "docker0" accept',
      [{ match: { op: '==', left: { meta: { key: 'oifname' } }, right: 'docker0' } }, { accept: null }],
      'others accept',
    ],
    [
      'oifname != "docker0" accept',
      [{ match: { op: '!=', left: { meta: { key: 'oifname' } }, right: 'docker0' } }, { accept: null }],
      'some accept',
    ],
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
  ])('the rule is read: %s', (_, expr, expected) => {
    expect(rulesOf({ nftables: [{ rule: { family: 'ip', table: 't', chain: 'c', handle: 1, expr } }] }).map(text)).toEqual([expected]);
  });
});

describe('legacy iptables filters', () => {
  test('policy, rules and jumps are read from -S', () => {
    const output = `-P INPUT ACCEPT
-P FORWARD DROP
-P OUTPUT ACCEPT
-N DOCKER-USER
-A INPUT -i lo -j ACCEPT
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A INPUT -p tcp -m conntrack --ctstate NEW,RELATED -m tcp --dport 30000:32767 -j ACCEPT
-A INPUT -p tcp -m multiport --dports 179,1000:1010 -j ACCEPT
-A INPUT -s 10.0.0.0/8 -p tcp -m tcp --dport 179 -j ACCEPT
-A INPUT -p udp -m udp --dport 179 -j ACCEPT
-A FORWARD -j DOCKER-USER
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -m comment --comment "all that is translated" -m conntrack --ctstate DNAT -j ACCEPT
-A FORWARD -i docker0 -j ACCEPT
-A FORWARD ! -i docker0 -j ACCEPT
-A FORWARD -m conntrack ! --ctstate ESTABLISHED -j ACCEPT
-A FORWARD -j LOG
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
-A DOCKER-USER -m comment --comment open -j RETURN
`;
    const [forward, input, ...others] = readLegacyTable(output, 'ip');
    expect(others).toEqual([]);
    expect(forward).toMatchObject({
      hook: 'forward',
      backend: 'iptables',
      family: 'ip',
      table: 'filter',
      chain: 'FORWARD',
      policy: 'drop',
    });
    expect(input).toMatchObject({ hook: 'input', backend: 'iptables', family: 'ip', table: 'filter', chain: 'INPUT', policy: 'accept' });
    expect(forward?.chains.get('FORWARD')?.map(text)).toEqual([
      'all jump DOCKER-USER',
      'others accept',
      'translated accept',
      'others accept',
      'some accept',
      'some accept',
      'all none',
      'all reject',
    ]);
    expect(forward?.chains.get('DOCKER-USER')?.map(text)).toEqual(['all return']);
    expect(input?.chains.get('INPUT')?.map(text)).toEqual([
      'some accept',
      '22-22 accept',
      '30000-32767 accept',
      '179-179,1000-1010 accept',
      'some accept',
      'some accept',
    ]);
    expect(readLegacyTable('', 'ip')).toEqual([]);
  });
});
