import { describe, expect, test } from 'vitest';
import { unreadLegacyTable } from '../../../../src/dataplane/host/filters/legacy-filters.ts';
import { blockedByFilters, judgeFilters } from '../../../../src/decisions/host/filters.ts';
import type { FilterAction, FilterRule, HostFilter } from '../../../../src/net/host-filter.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { remedyText, reasonText } from '../../../../src/model/reasons.ts';

const actions: Readonly<Record<string, FilterAction>> = {
  accept: { kind: 'accept' },
  drop: { kind: 'drop' },
  reject: { kind: 'reject' },
  return: { kind: 'return' },
  none: { kind: 'none' },
};

/** Parses "179 accept", "100-200 drop", "10.244.0.0/16 accept" (to these addresses), "all accept", "some drop", "translated accept" or "all jump OTHER". */
const rule = (text: string): FilterRule => {
  const [packets = 'all', verb = '', chain = ''] = text.split(' ');
  const action: FilterAction = verb === 'jump' || verb === 'goto' ? { kind: verb, chain } : (actions[verb] ?? { kind: 'none' });
  const others = { action, conditions: [], number: 1, text };
  if (packets.includes('/')) return { ...others, packets: { to: [prefix(packets)] } };
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(packets) ?? [];
  return { ...others, packets: first === undefined ? (packets as 'all') : [{ first: Number(first), last: Number(last) }] };
};

function filter(
  policy: 'accept' | 'drop',
  chains: Readonly<Record<string, readonly string[]>>,
  more: Partial<HostFilter> = {},
): HostFilter {
  const rules = new Map(Object.entries(chains).map(([name, list]) => [name, list.map(rule)]));
  return {
    hook: 'forward',
    priority: 0,
    backend: 'nft',
    family: 'inet',
    table: 'filter',
    chain: 'forward',
    policy,
    chains: rules,
    ...more,
  };
}

const nothing = new Map<number, string>();
const closed = (policy: 'accept' | 'drop', forward: readonly string[], others: Readonly<Record<string, readonly string[]>> = {}): boolean =>
  judgeFilters([filter(policy, { forward, ...others })], nothing).length > 0;

test('tables that cannot be read are named once for each cause, and nothing is claimed of them', () => {
  const unread = (['ip', 'ip6'] as const).flatMap((family) =>
    unreadLegacyTable(family, 'filter', `${family === 'ip' ? 'iptables' : 'ip6tables'}-legacy is not installed`),
  );
  const [first, second, ...others] = judgeFilters(
    [...unread, ...unreadLegacyTable('ip', 'raw', 'iptables-legacy is not installed')],
    nothing,
  );
  expect([first, second].map((one) => one?.details)).toEqual([
    { tables: 'filter of iptables and raw of iptables', why: 'iptables-legacy is not installed' },
    { tables: 'filter of ip6tables', why: 'ip6tables-legacy is not installed' },
  ]);
  expect([first?.code, others, blockedByFilters(unread)]).toEqual(['FilterTablesUnread', [], []]);
});

describe('a filter of another program', () => {
  test.each<[string, 'accept' | 'drop', readonly string[], Readonly<Record<string, readonly string[]>>, boolean]>([
    ['accepts', 'accept', [], {}, false],
    ['has policy drop', 'drop', [], {}, true],
    ['has policy drop and accepts some packets', 'drop', ['some accept', 'some accept'], {}, true],
    ['has policy drop and accepts all packets before', 'drop', ['some drop', 'all accept'], {}, false],
    ['has policy drop and accepts translated connections', 'drop', ['translated accept'], {}, false],
    ['ends with a rule that rejects all', 'accept', ['some accept', 'all reject'], {}, true],
    ['ends with a rule that drops all', 'accept', ['all drop', 'all accept'], {}, true],
    ['drops some packets', 'accept', ['some drop'], {}, false],
    ['rejects translated connections', 'accept', ['translated reject'], {}, true],
    ['accepts translated connections before it rejects all', 'accept', ['translated accept', 'all reject'], {}, false],
    ['leads to a chain that accepts', 'drop', ['all jump user'], { user: ['all accept'] }, false],
    ['leads some packets to a chain that accepts', 'drop', ['some jump user'], { user: ['all accept'] }, true],
    ['leads to a chain that returns', 'drop', ['all jump user', 'all accept'], { user: ['all return', 'all drop'] }, false],
    ['goes to a chain without verdict and ends at its policy', 'drop', ['all goto user', 'all accept'], { user: ['some accept'] }, true],
    ['leads to an unknown chain', 'accept', ['all jump gone', 'all none'], {}, false],
    ['accepts some ports', 'drop', ['0-65535 accept'], {}, true],
    ['leads in a circle', 'drop', ['all jump a'], { a: ['all jump a'] }, true],
  ])('a filter that %s', (_, policy, forward, others, expected) => {
    expect(closed(policy, forward, others)).toBe(expected);
  });

  test('the reason names the filter and how it drops', () => {
    const [because] = judgeFilters([filter('drop', { forward: [] })], nothing);
    expect(because && reasonText(because)).toBe(
      'chain forward of table inet filter drops the packets of Services that none of its other rules accepts: its policy is drop',
    );
    const [other] = judgeFilters(
      [filter('accept', { FORWARD: ['all reject'] }, { backend: 'iptables', family: 'ip6', chain: 'FORWARD' })],
      nothing,
    );
    expect(other && reasonText(other)).toBe(
      'chain FORWARD of ip6tables-legacy drops the packets of Services that none of its other rules accepts: a rule for all packets rejects them',
    );
  });

  test.each<[string, HostFilter, string]>([
    ['plain nft', filter('drop', {}), 'run: nft insert rule inet filter forward ct status dnat accept'],
    ['iptables on nft', filter('drop', {}, { family: 'ip', chain: 'FORWARD' }), 'run: iptables -P FORWARD ACCEPT'],
    [
      'legacy ip6tables',
      filter('drop', {}, { backend: 'iptables', family: 'ip6', chain: 'FORWARD' }),
      'run: ip6tables-legacy -P FORWARD ACCEPT',
    ],
    [
      'iptables that rejects by a rule',
      filter('accept', { FORWARD: ['all reject'] }, { family: 'ip', chain: 'FORWARD' }),
      'run: iptables -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT',
    ],
    [
      'docker',
      filter('drop', { FORWARD: ['all jump DOCKER-USER'], 'DOCKER-USER': [] }, { family: 'ip', chain: 'FORWARD' }),
      'run: iptables -I DOCKER-USER -j ACCEPT; or set "ip-forward-no-drop": true in /etc/docker/daemon.json (Docker 28)',
    ],
    [
      'ufw',
      filter('drop', { FORWARD: ['all jump ufw-before-forward'] }, { family: 'ip', chain: 'FORWARD' }),
      'run: ufw default allow routed',
    ],
    [
      'firewalld',
      filter('accept', { filter_FORWARD: ['all reject'] }, { table: 'firewalld', chain: 'filter_FORWARD' }),
      'set StrictForwardPorts=no in /etc/firewalld/firewalld.conf and run: firewall-cmd --reload',
    ],
  ])('a filter of %s comes with its fix', (_, one, remedy) => {
    expect(judgeFilters([one], nothing).map(remedyText)).toEqual([remedy]);
  });
});

describe('connections to pods that another node has translated', () => {
  const pods = [prefix('10.244.2.0/24'), prefix('fd00:244:2::/64')];
  const judge = (policy: 'accept' | 'drop', rules: readonly string[], more: Partial<HostFilter> = {}): string[] =>
    judgeFilters([filter(policy, { [more.chain ?? 'forward']: rules, user: ['some accept'] }, more)], nothing, pods).map(
      (because) => `${because.code}: ${remedyText(because)}`,
    );
  const [both, four, six] = [
    'nft insert rule inet filter forward ip daddr 10.244.2.0/24 accept && nft insert rule inet filter forward ip saddr 10.244.2.0/24 ct state established,related accept && nft insert rule inet filter forward ip6 daddr fd00:244:2::/64 accept && nft insert rule inet filter forward ip6 saddr fd00:244:2::/64 ct state established,related accept',
    'nft insert rule inet filter forward ip daddr 10.244.2.0/24 accept && nft insert rule inet filter forward ip saddr 10.244.2.0/24 ct state established,related accept',
    'nft insert rule inet filter forward ip6 daddr fd00:244:2::/64 accept && nft insert rule inet filter forward ip6 saddr fd00:244:2::/64 ct state established,related accept',
  ];

  test.each<[string, 'accept' | 'drop', readonly string[], readonly string[]]>([
    ['by a stock rule set', 'drop', ['others accept', 'translated accept'], [`PodFilterDrops: run: ${both}`]],
    ['by a last rule that rejects', 'accept', ['translated accept', 'all reject'], [`PodFilterDrops: run: ${both}`]],
    ['for one family', 'drop', ['translated accept', '10.244.0.0/16 accept'], [`PodFilterDrops: run: ${six}`]],
    ['for a part of the pods', 'drop', ['translated accept', 'fd00:244:2::/64 accept', '10.244.2.0/25 accept'], []],
    ['for other pods', 'drop', ['translated accept', 'fd00:244::/32 accept', '10.244.3.0/24 drop'], [`PodFilterDrops: run: ${four}`]],
    ['not when all pods are accepted', 'drop', ['translated accept', '10.244.0.0/16 accept', 'fd00:244::/32 accept'], []],
    ['not certainly, with a rule that may accept them', 'drop', ['translated accept', 'all jump user'], []],
    [
      'together with those that this node translates',
      'drop',
      ['others accept'],
      [`ForwardFilterDrops: run: nft insert rule inet filter forward ct status dnat accept && ${both}`],
    ],
  ])('are dropped %s', (_, policy, rules, expected) => {
    expect(judge(policy, rules)).toEqual(expected);
  });

  test('the reason names the pods, and iptables and firewalld get commands of their own', () => {
    const [because] = judgeFilters([filter('drop', { forward: ['translated accept'] })], nothing, pods);
    expect(because && reasonText(because)).toBe(
      'chain forward of table inet filter drops connections to pods of this node (10.244.2.0/24 and fd00:244:2::/64) that another node has translated, because none of its other rules accepts them: its policy is drop',
    );
    expect(judge('drop', ['translated accept'], { family: 'ip', chain: 'FORWARD' })).toEqual([
      'PodFilterDrops: run: iptables -I FORWARD -d 10.244.2.0/24 -j ACCEPT && iptables -I FORWARD -s 10.244.2.0/24 -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT',
    ]);
    expect(judge('accept', ['translated accept', 'some goto user', 'all reject'], { table: 'firewalld', chain: 'filter_FORWARD' })).toEqual(
      [
        'PodFilterDrops: run: firewall-cmd --permanent --zone=trusted --add-source=10.244.2.0/24 --add-source=fd00:244:2::/64 && firewall-cmd --permanent --new-policy=to-pods && firewall-cmd --permanent --policy=to-pods --add-ingress-zone=ANY && firewall-cmd --permanent --policy=to-pods --add-egress-zone=trusted && firewall-cmd --permanent --policy=to-pods --set-target=ACCEPT && firewall-cmd --reload',
      ],
    );
  });
});

describe('a filter that certainly drops', () => {
  const families = (policy: 'accept' | 'drop', forward: readonly string[], family: HostFilter['family'] = 'inet'): number[] =>
    blockedByFilters([filter(policy, { forward, user: ['others accept'], open: ['some accept'] }, { family })]).map((one) => one.family);

  test.each<[string, 'accept' | 'drop', readonly string[], readonly number[]]>([
    ['has policy accept', 'accept', [], []],
    ['has policy drop', 'drop', [], [4, 6]],
    ['drops some packets first', 'drop', ['some drop', '179 reject'], [4, 6]],
    ['accepts packets that are not of clients to Services', 'drop', ['others accept', 'all jump user'], [4, 6]],
    ['may accept packets of clients', 'drop', ['some accept'], []],
    ['may accept new connections to a port', 'drop', ['80 accept'], []],
    ['leads to a chain that may accept packets of clients', 'drop', ['all jump open'], []],
    ['leads some packets to a chain that is not listed', 'drop', ['some jump other'], []],
    ['rejects all after a rule for others', 'accept', ['others accept', 'all reject'], [4, 6]],
    ['accepts all', 'drop', ['all accept'], []],
    ['accepts translated connections', 'drop', ['translated accept'], []],
  ])('it blocks when it %s', (_, policy, rules, expected) => {
    expect(families(policy, rules)).toEqual(expected);
  });

  test('it blocks the family of its table only', () => {
    expect([families('drop', [], 'ip'), families('drop', [], 'ip6')]).toEqual([[4], [6]]);
    expect(blockedByFilters([filter('drop', {}, { hook: 'input' })])).toEqual([]);
  });
});

describe('connections to the node itself', () => {
  const served = new Map([
    [32_100, 'health check of shop/web'],
    [179, 'BGP of passive peers'],
  ]);
  const input = (policy: 'accept' | 'drop', rules: readonly string[], more: Partial<HostFilter> = {}): string[] => {
    const chain = more.chain ?? 'input';
    return judgeFilters([filter(policy, { [chain]: rules, user: ['32000-33000 accept'] }, { hook: 'input', chain, ...more })], served).map(
      (because) => `${reasonText(because)}; ${remedyText(because)}`,
    );
  };
  const closedText = (ports: string, how: string): string =>
    `chain input of table inet filter drops connections to TCP port ${ports} that none of its other rules accepts: ${how}`;

  test.each<[string, 'accept' | 'drop', readonly string[], string | undefined]>([
    ['policy accept lets them in', 'accept', ['some drop'], undefined],
    ['a rule for the ports lets them in', 'drop', ['some accept', '179 accept', 'all jump user'], undefined],
    ['a rule for all packets lets them in', 'drop', ['all accept'], undefined],
    [
      'a rule for translated packets does not let them in',
      'drop',
      ['translated accept'],
      '179 (BGP of passive peers), 32100 (health check of shop/web)',
    ],
    ['a rule lets one port in', 'drop', ['179 accept'], '32100 (health check of shop/web)'],
    ['a rule drops one port', 'accept', ['179 drop', '179 accept'], '179 (BGP of passive peers)'],
  ])('connections to served ports: %s', (_, policy, rules, ports) => {
    const how = rules.includes('179 drop') ? 'a rule for all packets drops them' : 'its policy is drop';
    expect(input(policy, rules).map((text) => text.split(';')[0])).toEqual(ports === undefined ? [] : [closedText(ports, how)]);
  });

  test('an input filter does not matter when the node serves no port', () => {
    expect(judgeFilters([filter('drop', {}, { hook: 'input', chain: 'input' })], nothing)).toEqual([]);
  });

  test('a reason with many ports names some and counts the rest', () => {
    const many = new Map(Array.from({ length: 20 }, (_, index) => [32_000 + index, `health check of shop/s${index}`]));
    const [because] = judgeFilters([filter('drop', {}, { hook: 'input', chain: 'input' })], many);
    expect(because && reasonText(because)).toMatch(/32004 \(health check of shop\/s4\) and 15 more that none/);
    expect(because && remedyText(because)).toMatch(/dport \{ 32000, .*, 32014 \} accept$/);
  });

  test.each<[string, Partial<HostFilter>, readonly string[], string]>([
    ['plain nft', {}, [], 'run: nft insert rule inet filter input tcp dport { 179, 32100 } accept'],
    ['iptables', { family: 'ip', chain: 'INPUT' }, [], 'run: iptables -I INPUT -p tcp -m multiport --dports 179,32100 -j ACCEPT'],
    [
      'legacy ip6tables',
      { backend: 'iptables', family: 'ip6', chain: 'INPUT' },
      [],
      'run: ip6tables-legacy -I INPUT -p tcp -m multiport --dports 179,32100 -j ACCEPT',
    ],
    ['ufw', { family: 'ip', chain: 'INPUT' }, ['all jump ufw-before-input'], 'run: ufw allow 179,32100/tcp'],
    [
      'firewalld',
      { table: 'firewalld', chain: 'filter_INPUT' },
      ['all reject'],
      'run: firewall-cmd --permanent --add-port=179/tcp --add-port=32100/tcp, then: firewall-cmd --reload',
    ],
  ])('ports that %s drops come with their fix', (_, more, rules, remedy) => {
    expect(input('drop', rules, more).map((text) => text.split('; ')[1])).toEqual([remedy]);
  });
});
