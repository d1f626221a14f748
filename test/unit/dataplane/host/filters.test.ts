import { describe, expect, test } from 'vitest';
import { readLegacyTable } from '../../../../src/dataplane/host/filters/legacy-filters.ts';
import { filterChains, hasExtensions, rulesOf } from '../../../../src/dataplane/host/filters/nft-filters.ts';
import type { FilterCondition, FilterRule } from '../../../../src/net/host-filter.ts';
import { formatPrefix, type Prefix } from '../../../../src/net/prefix.ts';

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
        chain({ name: 'early', hook: 'prerouting', prio: -300 }),
        chain({ name: 'out', hook: 'output' }),
        chain({ name: 'nat', type: 'nat' }),
        chain({ name: 'bridge', family: 'bridge' }),
        chain({ table: 'herald' }),
        { chain: { family: 'inet', table: 'filter', name: 'regular', handle: 2 } },
      ],
    };
    expect(filterChains(json, new Set(['herald']))).toEqual([
      { hook: 'forward', priority: 0, backend: 'nft', family: 'inet', table: 'filter', chain: 'f', policy: 'drop' },
      { hook: 'forward', priority: 0, backend: 'nft', family: 'ip6', table: 'filter', chain: 'open', policy: 'accept' },
      { hook: 'input', priority: 0, backend: 'nft', family: 'inet', table: 'filter', chain: 'in', policy: 'drop' },
      { hook: 'prerouting', priority: -300, backend: 'nft', family: 'inet', table: 'filter', chain: 'early', policy: 'drop' },
    ]);
    expect(filterChains('nonsense', new Set())).toEqual([]);
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
    ['ip daddr 10.0.0.0-10.0.0.7 accept', [daddr('ip', { range: ['10.0.0.0', '10.0.0.7'] }), { accept: null }], 'to 10.0.0.0/29 accept'],
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
    ['an iptables LOG', [{ xt: { type: 'target', name: 'LOG' } }], 'all none'],
    ['a limit', [{ limit: { rate: 1, per: 'second' } }, { accept: null }], 'some accept'],
    ['a verdict map', [{ vmap: { key: { meta: { key: 'iifname' } }, data: '@m' } }], 'all unknown'],
    ['jump', [{ counter: null }, { jump: { target: 'DOCKER-USER' } }], 'all jump DOCKER-USER'],
    ['goto', [{ goto: { target: 'other' } }], 'all goto other'],
    ['counter', [{ counter: null }], 'all none'],
  ])('the rule is read: %s', (_, expr, expected) => {
    expect(rulesOf({ nftables: [{ rule: { family: 'ip', table: 't', chain: 'c', handle: 1, expr } }] }).map(text)).toEqual([expected]);
  });
});

describe('conditions of nft', () => {
  const match = (left: object, right: unknown, op = '=='): object => ({ match: { op, left, right } });
  const payload = (protocol: string, field: string): object => ({ payload: { protocol, field } });
  const conditionsText = ({ conditions, action, number, text: rule }: FilterRule): string => {
    const told = conditions.map((one) => {
      const { field, ...rest } = one as FilterCondition & { readonly prefixes?: readonly Prefix[] };
      return `${field} ${JSON.stringify(rest.prefixes === undefined ? rest : { ...rest, prefixes: rest.prefixes.map(formatPrefix) })}`;
    });
    return `${number} ${told.join(', ')} ${action.kind} | ${rule}`;
  };

  /** The JSON that nft 1.0.6 prints for these rules. */
  test.each<[readonly object[], readonly string[]]>([
    [
      [match(payload('ip', 'saddr'), { prefix: { addr: '10.0.0.0', len: 8 } }, '!='), { drop: null }],
      ['1 family {"family":4,"negated":false}, source {"prefixes":["10.0.0.0/8"],"negated":true} drop | ip saddr != 10.0.0.0/8 drop'],
    ],
    [
      [match({ meta: { key: 'iifname' } }, { set: ['b*', 'eth0'] }), match(payload('udp', 'dport'), { range: [53, 60] }), { drop: null }],
      [
        '1 interface {"names":["b*","eth0"],"negated":false}, protocol {"names":["udp"],"negated":false}, port {"ranges":[{"first":53,"last":60}],"negated":false} drop | iifname { b*, eth0 } udp dport 53-60 drop',
      ],
    ],
    [
      [
        {
          vmap: {
            key: { ct: { key: 'state' } },
            data: {
              set: [
                ['invalid', { drop: null }],
                ['new', { jump: { target: 'a' } }],
              ],
            },
          },
        },
      ],
      [
        '1 state {"states":["invalid"],"negated":false} drop | ct state invalid drop',
        '1 state {"states":["new"],"negated":false} jump | ct state new jump a',
      ],
    ],
    [
      [match({ fib: { result: 'oif', flags: ['saddr', 'iif'] } }, false), { drop: null }],
      ['1 other {"looksAt":"fib saddr . iif oif"} drop | fib saddr . iif oif missing drop'],
    ],
    [
      [match({ ct: { key: 'proto-dst', dir: 'original' } }, 80), { accept: null }],
      ['1 other {"looksAt":"ct original proto-dst"} accept | ct original proto-dst 80 accept'],
    ],
    [[match({ '&': [{ meta: { key: 'mark' } }, 255] }, 1), { drop: null }], ['1 other {"looksAt":"meta mark"} drop | meta mark 1 drop']],
    [
      [match(payload('ip', 'daddr'), '@s'), { drop: null }],
      ['1 family {"family":4,"negated":false}, other {"looksAt":"ip daddr"} drop | ip daddr @s drop'],
    ],
    [
      [match({ meta: { key: 'l4proto' } }, { set: ['tcp', 'udp'] }), match(payload('th', 'dport'), 53), { queue: { num: 1 } }],
      [
        '1 protocol {"names":["tcp","udp"],"negated":false}, port {"ranges":[{"first":53,"last":53}],"negated":false} unknown | meta l4proto { tcp, udp } th dport 53 queue',
      ],
    ],
    [
      [match({ ct: { key: 'state' } }, 'new', '!'), { drop: null }],
      ['1 state {"states":["new"],"negated":true} drop | ct state ! new drop'],
    ],
    [[{ xt: { type: 'match', name: 'set' } }, { drop: null }], ['1 other {"looksAt":"the extension set of iptables"} drop | -m set drop']],
  ])('the rule %j has its conditions', (expr, expected) => {
    expect(rulesOf({ nftables: [{ rule: { family: 'inet', table: 't', chain: 'c', expr } }] }).map(conditionsText)).toEqual(expected);
  });

  test('extensions of iptables are noticed, comments are none', () => {
    const of = (name: string): boolean =>
      hasExtensions({ nftables: [{ rule: { expr: [{ xt: { type: 'match', name } }, { drop: null }] } }] });
    expect([of('conntrack'), of('comment')]).toEqual([true, false]);
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
