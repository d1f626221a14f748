import { describe, expect, test } from 'vitest';
import { readTable } from '../../../../src/dataplane/host/filters/legacy-filters.ts';
import { judgeServiceFilters, selectiveFilters, type FilteredHost } from '../../../../src/decisions/host/service-filters.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import type { Backend, Frontend, Protocol } from '../../../../src/net/frontend.ts';
import type { HostFilter } from '../../../../src/net/host-filter.ts';

/** A chain whose rules are written as arguments of iptables. Lines of other chains begin with their names and a colon. */
function filter(more: Partial<HostFilter>, ...rules: readonly string[]): HostFilter {
  const chain = more.chain ?? 'c';
  const lines = rules.map((rule) => (/^\w+: /.test(rule) ? `-A ${rule.replace(':', '')}` : `-A ${chain} ${rule}`));
  const { chains } = readTable([`-P ${chain} ACCEPT`, ...lines].join('\n'));
  return { hook: 'forward', priority: 0, backend: 'nft', family: 'inet', table: 'fw', chain, policy: 'accept', chains, ...more };
}

const backend = (text: string, port = 8080): Backend => ({ address: address(text), port, local: false });

function frontend(text: string, backends: readonly Backend[], protocol: Protocol = 'TCP', port = 80): Frontend {
  const match = { kind: 'address', address: address(text), protocol, port } as const;
  return { match, scope: 'external', policy: 'Cluster', backends, localBackends: [] };
}

const host: FilteredHost = {
  node: 'n1',
  hasOthers: false,
  entries: ['eth0'],
  families: [4, 6],
  isOwn: (one) => ['10.0.0.1', 'fd00::1'].includes(formatAddress(one)),
  pods: [],
};
const both = [frontend('192.0.2.1', [backend('10.244.1.10')]), frontend('2001:db8::1', [backend('fd00:244:1::10')])];

interface Judged {
  /** "all 192.0.2.1 TCP 80", for each reason. */
  readonly lost: readonly string[];
  readonly undecided: readonly string[];
  readonly texts: readonly string[];
}

function judge(filters: readonly HostFilter[], frontends: readonly Frontend[] = both, more: Partial<FilteredHost> = {}): Judged {
  const { filtered, undecided } = judgeServiceFilters(selectiveFilters(filters), 'shop/web', frontends, { ...host, ...more });
  return {
    lost: filtered.map(({ code, details }) => (code === 'ServiceFiltered' ? `${details.share} ${details.frontends}` : code)),
    undecided: undecided.map(({ code, details }) => (code === 'FilterNotDecided' ? details.looksAt : code)),
    texts: [...filtered, ...undecided].map((one) => `${reasonText(one)}. ${remedyText(one)}`),
  };
}

const [all, ipv4, ipv6] = ['all 192.0.2.1 TCP 80, 2001:db8::1 TCP 80', 'all 192.0.2.1 TCP 80', 'all 2001:db8::1 TCP 80'];
const drop = { policy: 'drop' } as const;
const early = { hook: 'prerouting', priority: -150 } as const;
const late = { hook: 'prerouting', priority: -50 } as const;

describe('packets that clients send to a Service', () => {
  test.each<[string, HostFilter, readonly string[]]>([
    ['pass an empty chain', filter({}), []],
    ['are lost by policy drop', filter(drop), [all]],
    [
      'are lost where the port of the Service is accepted',
      filter(drop, '-m conntrack --ctstate ESTABLISHED -j ACCEPT', '-p tcp -m multiport --dports 80,443 -j ACCEPT'),
      [all],
    ],
    ['pass where the target port is accepted', filter(drop, '-p tcp -m tcp --dport 8000:9000 -j ACCEPT'), []],
    ['are lost where UDP is accepted', filter(drop, '-p udp -m udp --dport 8080 -j ACCEPT'), [all]],
    ['pass where translated packets are accepted', filter(drop, '-m conntrack --ctstate DNAT -j ACCEPT'), []],
    ['are lost over the family of the rule', filter({}, '-d 10.244.0.0/16 -j DROP'), [ipv4]],
    ['are lost over the family of the chain', filter({ ...drop, family: 'ip6' }), [ipv6]],
    ['are lost by a rule for new connections', filter({}, '-m conntrack --ctstate NEW -j REJECT'), [all]],
    ['pass a rule for invalid packets', filter({}, '-m conntrack --ctstate INVALID -j DROP'), []],
    ['are lost by a rule for the interface of clients', filter({}, '-i eth0 -p tcp -m tcp --dport 8080 -j DROP'), [all]],
    ['pass a rule for another interface', filter({}, '-i eth1 -j DROP', '! -i eth+ -j DROP'), []],
    ['are lost in a chain for them', filter({}, '-p tcp -j user', 'user: -d 10.244.1.10/32 -j DROP'), [ipv4]],
    ['pass a chain from which they return', filter({}, '-j user', 'user: -p tcp -j RETURN', 'user: -j DROP'), []],
    ['are lost after a chain for others', filter(drop, '-j user', 'user: -p tcp -m tcp --dport 22 -j ACCEPT'), [all]],
    ['return from a goto to the policy', filter(drop, '-g user', '-j ACCEPT', 'user: -p udp -j DROP'), [all]],
    ['are lost by their port before the translation', filter(early, '-p tcp -m tcp --dport 80 -j DROP'), [all]],
    ['pass a rule for the target port before the translation', filter(early, '-p tcp -m tcp --dport 8080 -j DROP'), []],
    ['are lost by the target port after the translation', filter(late, '-p tcp -m tcp --dport 8080 -j DROP'), [all]],
    ['pass a rule for their port after the translation', filter(late, '-p tcp -m tcp --dport 80 -j DROP'), []],
    [
      'are lost by their address in table raw',
      filter({ ...early, priority: -300, family: 'ip', table: 'raw', chain: 'PREROUTING' }, '-d 192.0.2.1/32 -j DROP'),
      [ipv4],
    ],
    ['are not judged at the priority of the translation', filter({ ...early, priority: -100 }, '-p tcp -j DROP'), []],
    ['pass the hook input', filter({ hook: 'input', policy: 'drop' }), []],
  ])('%s', (_, one, expected) => {
    expect(judge([one])).toMatchObject({ lost: expected, undecided: [] });
  });

  test('pass the hook input, not forward, to an endpoint in the network of the node', () => {
    const own = [frontend('192.0.2.1', [backend('10.0.0.1', 6443)]), frontend('2001:db8::1', [backend('fd00::1', 6443)])];
    expect(judge([filter(drop)], own).lost).toEqual([]);
    expect(judge([filter({ hook: 'input' }, '-p tcp -j REJECT')], own).lost).toEqual([all]);
    expect(judge([filter({ hook: 'input', ...drop }, '-p tcp -m tcp --dport 6443 -j ACCEPT')], own).lost).toEqual([]);
  });

  test('are judged by their protocol', () => {
    const dns = [frontend('192.0.2.1', [backend('10.244.1.10', 53)], 'UDP', 53)];
    expect(judge([filter({}, '-p tcp -j DROP')], dns).lost).toEqual([]);
    expect(judge([filter({}, '-p udp -m udp --dport 53 -j DROP')], dns).lost).toEqual(['all 192.0.2.1 UDP 53']);
  });

  test('are lost in part when a rule names one of the endpoints', () => {
    const two = [frontend('192.0.2.1', [backend('10.244.1.10'), backend('10.244.2.10')])];
    expect(judge([filter({}, '-d 10.244.2.0/24 -j DROP')], two).lost).toEqual(['some 192.0.2.1 TCP 80']);
    expect(judge([filter({}, '-d 10.244.2.0/24 -j DROP'), filter({ table: 'b' }, '-d 10.244.1.0/24 -j DROP')], two).lost).toEqual([
      'all 192.0.2.1 TCP 80',
      'all 192.0.2.1 TCP 80',
    ]);
  });

  test('are not judged where Herald passes them on unchanged, inside the cluster, without endpoints or in a family that the node does not forward', () => {
    const [one] = both;
    if (one === undefined) throw new RangeError('there is a frontend');
    const others: Frontend[] = [
      { ...one, directReturn: {} },
      { ...one, scope: 'internal' },
      { ...one, backends: [] },
      { ...one, policy: 'Local' },
    ];
    expect(judge([filter(drop)], others).lost).toEqual([]);
    expect(judge([filter(drop)], both, { families: [6] }).lost).toEqual([ipv6]);
  });
});

describe('packets that other nodes have translated', () => {
  const local = both.map((one) => ({ ...one, backends: one.backends.map((each) => ({ ...each, local: true })) }));
  const passed = (filters: readonly HostFilter[], frontends: readonly Frontend[] = local): readonly string[] => {
    const { filtered } = judgeServiceFilters(selectiveFilters(filters), 'shop/web', frontends, { ...host, hasOthers: true });
    return filtered.flatMap(({ code, details }) =>
      code === 'PassedFiltered' ? [`${details.share} ${details.frontends}: ${details.remedy}`] : [],
    );
  };
  const insert = 'run: nft insert rule inet fw c';
  const command = `${insert} ip daddr 10.244.1.10 tcp dport 8080 accept && nft insert rule inet fw c ip6 daddr fd00:244:1::10 tcp dport 8080 accept`;

  test.each<[string, HostFilter, readonly string[]]>([
    ['are lost where only translated packets are accepted', filter(drop, '-m conntrack --ctstate DNAT -j ACCEPT'), [`${all}: ${command}`]],
    [
      'are lost by a rule for their port before the translation',
      filter(early, '-p tcp -m tcp --dport 8080 -j DROP'),
      [`${all}: ${command}`],
    ],
    ['pass a rule for the port of the Service', filter(early, '-p tcp -m tcp --dport 80 -j DROP'), []],
    ['pass a rule for the interface of clients', filter({}, '-i eth0 -j DROP'), []],
    ['pass where their port is accepted', filter(drop, '-p tcp -m tcp --dport 8080 -j ACCEPT'), []],
  ])('%s', (_, one, expected) => {
    expect(passed([one])).toEqual(expected);
  });

  test('are accepted as well by the fix for a rule that drops them and those of clients', () => {
    const { filtered } = judgeServiceFilters([filter({}, '-d 10.244.0.0/16 -j DROP')], 'shop/web', local, { ...host, hasOthers: true });
    expect(filtered.map(remedyText)[0]).toBe(
      'run: nft insert rule inet fw c ct status dnat accept && nft insert rule inet fw c ip daddr 10.244.1.10 tcp dport 8080 accept',
    );
  });

  test('are not judged for endpoints elsewhere, and under policy Local there are none', () => {
    expect(passed([filter(drop)], both)).toEqual([]);
    expect(
      passed(
        [filter(drop)],
        local.map((one) => ({ ...one, policy: 'Local', localBackends: one.backends })),
      ),
    ).toEqual([]);
  });

  test('are lost to some endpoints when others are elsewhere', () => {
    const [one] = local;
    if (one === undefined) throw new RangeError('there is a frontend');
    const two = [{ ...one, backends: [...one.backends, backend('10.244.2.10')] }];
    expect(passed([filter({}, '-p tcp -m tcp --dport 8080 -j DROP')], two)).toEqual([expect.stringMatching(/^some 192\.0\.2\.1 TCP 80: /)]);
  });

  test('to an endpoint in the network of the node are lost by the hook input', () => {
    const own = [frontend('192.0.2.1', [{ ...backend('10.0.0.1', 6443), local: true }])];
    const iptables = filter({ hook: 'input', family: 'ip', table: 'filter', chain: 'INPUT' }, '-j REJECT');
    expect(passed([iptables], own)).toEqual([`${ipv4}: run: iptables -I INPUT -d 10.0.0.1 -p tcp -m multiport --dports 6443 -j ACCEPT`]);
  });
});

describe('a rate', () => {
  const first = both.slice(0, 1);
  const byRule = (how: string): string => `some 192.0.2.1 TCP 80: ${how}`;
  const limits = (one: HostFilter): string[] =>
    judgeServiceFilters(selectiveFilters([one]), 'shop/web', first, host).filtered.map(({ code, details }) =>
      code === 'ServiceLimited' ? `${details.share} ${details.frontends}: ${details.how}` : code,
    );

  test.each<[string, HostFilter, readonly string[]]>([
    [
      'that accepts before the policy drops',
      filter(drop, '-m limit --limit 5/sec -j ACCEPT'),
      [byRule('only 5 packets a second pass, by rule 1 (-m limit --limit 5/sec -j ACCEPT)')],
    ],
    [
      'of one source that drops what is beyond it',
      filter({}, '-p tcp --syn -m hashlimit --hashlimit-above 20/min --hashlimit-mode srcip --hashlimit-name x -j DROP'),
      [
        byRule(
          'only 20 packets of one source a minute pass, by rule 1 (-p tcp --syn -m hashlimit --hashlimit-above 20/min --hashlimit-mode srcip --hashlimit-name x -j DROP)',
        ),
      ],
    ],
    [
      'of connections at a time',
      filter({}, '-p tcp --tcp-flags FIN,SYN,RST,ACK SYN -m connlimit --connlimit-above 1 --connlimit-mask 0 -j REJECT'),
      [
        byRule(
          'only 1 connection at a time passes, by rule 1 (-p tcp --tcp-flags FIN,SYN,RST,ACK SYN -m connlimit --connlimit-above 1 --connlimit-mask 0 -j REJECT)',
        ),
      ],
    ],
    [
      'that drops up to it',
      filter({}, '-m statistic --mode random --probability 0.25 -j DROP'),
      [byRule('25 % of the packets are lost, by rule 1 (-m statistic --mode random --probability 0.25 -j DROP)')],
    ],
    [
      'that returns before a chain drops',
      filter({}, '-j flood', 'flood: -m limit --limit 1/s -j RETURN', 'flood: -j DROP'),
      [byRule('only 1 packet a second passes, by rule 1 of chain flood (-m limit --limit 1/s -j RETURN)')],
    ],
    [
      'that leads to a chain that drops',
      filter({}, '-m hashlimit --hashlimit-above 5/sec --hashlimit-name x -j user', 'user: -j LOG', 'user: -j DROP'),
      [byRule('only 5 packets a second pass, by rule 1 (-m hashlimit --hashlimit-above 5/sec --hashlimit-name x -j user)')],
    ],
    ['that only logs', filter({}, '-m limit --limit 5/min -j LOG'), []],
    ['that accepts what is accepted anyway', filter({}, '-m limit --limit 5/min -j ACCEPT'), []],
    ['for another port', filter({}, '-p tcp -m tcp --dport 22 -m connlimit --connlimit-above 2 -j DROP'), []],
    ['of other packets than first ones', filter({}, '-p tcp ! --syn -m limit --limit 1/s -j DROP'), []],
    ['that drops a share of what is all dropped', filter(drop, '-m limit --limit 5/min -j DROP'), ['ServiceFiltered']],
    ['behind a rule that accepts', filter({}, '-m conntrack --ctstate DNAT -j ACCEPT', '-m limit --limit 1/s -j DROP'), []],
  ])('%s: a share is lost, never all', (_, one, expected) => {
    expect(limits(one)).toEqual(expected);
  });

  test('is said as a share, with a command that lifts it', () => {
    const [limited] = judgeServiceFilters(
      selectiveFilters([filter(drop, '-m limit --limit 5/sec -j ACCEPT')]),
      'shop/web',
      first,
      host,
    ).filtered;
    if (limited === undefined) throw new RangeError('there is a limit');
    expect(reasonText(limited)).toBe(
      'chain c of table inet fw (hook forward) drops a share of connections to 10.244.1.10:8080 (TCP): only 5 packets a second pass, by rule 1 (-m limit --limit 5/sec -j ACCEPT)',
    );
    expect(remedyText(limited)).toBe(
      'if clients need more, raise the limit of this rule, or run: nft insert rule inet fw c ct status dnat accept',
    );
  });
});

describe('a chain of an interface', () => {
  const at = (hook: 'ingress' | 'egress', devices: readonly string[], ...rules: readonly string[]): HostFilter =>
    filter({ hook, family: 'netdev', devices }, ...rules);
  const bonded: Partial<FilteredHost> = {
    devicesOf: (entry) => [
      ['eth1', entry],
      ['eth2', entry],
    ],
  };

  test.each<[string, HostFilter, Partial<FilteredHost>, readonly string[]]>([
    ['drops the port of the Service', at('ingress', ['eth0'], '-p tcp -m tcp --dport 80 -j DROP'), {}, [all]],
    ['drops one address', at('ingress', ['eth0'], '-d 2001:db8::1/128 -j DROP'), {}, [ipv6]],
    ['sees no target port', at('ingress', ['eth0'], '-p tcp -m tcp --dport 8080 -j DROP'), {}, []],
    ['of another interface sees no client', at('ingress', ['eth9'], '-j DROP'), {}, []],
    ['of every port of the bond drops', at('ingress', ['eth1', 'eth2'], '-j DROP'), bonded, [all]],
    ['of the bond drops', at('ingress', ['eth0'], '-j DROP'), bonded, [all]],
    ['drops the answers', at('egress', ['eth0'], '-p tcp -m tcp --sport 80 -j DROP'), {}, [all]],
    ['drops the answers of one address', at('egress', ['eth0'], '-s 192.0.2.1/32 -j DROP'), {}, [ipv4]],
    ['drops no answer from the target port', at('egress', ['eth0'], '-p tcp -m tcp --sport 8080 -j DROP'), {}, []],
  ])('%s', (_, one, more, expected) => {
    expect(judge([one], both, more)).toMatchObject({ lost: expected, undecided: [] });
  });

  test('of one port of the bond leaves open which packets come by it', () => {
    expect(judge([at('ingress', ['eth1'], '-p tcp -m tcp --dport 80 -j DROP')], both.slice(0, 1), bonded)).toMatchObject({
      lost: [],
      undecided: ['the interface by which packets come in: those that come by eth1 are lost'],
    });
  });

  test('leaves open a loss where the entries of clients are unknown', () => {
    const { lost, undecided } = judge([at('ingress', ['eth0'], '-p tcp -m tcp --dport 80 -j DROP')], both.slice(0, 1), { entries: [] });
    expect({ lost, undecided }).toEqual({ lost: [], undecided: ['the interface by which packets come in'] });
  });

  test('gets a command that also accepts what other nodes pass on to endpoints of this one', () => {
    const limit = at('ingress', ['eth0'], '-p tcp -m tcp --tcp-flags SYN,ACK SYN -m limit --limit 10/minute -j ACCEPT', '-p tcp -j DROP');
    const backends = [{ ...backend('10.244.1.10'), local: true }, backend('10.244.2.10')];
    const ofNode = (hasOthers: boolean): string | undefined => judge([limit], [frontend('192.0.2.1', backends)], { hasOthers }).texts[0];
    expect(ofNode(false)).toMatch(/run: nft insert rule netdev fw c ip daddr 192\.0\.2\.1 tcp dport 80 accept$/);
    expect(ofNode(true)).toMatch(
      /run: nft insert rule netdev fw c ip daddr \{ 192\.0\.2\.1, 10\.244\.1\.10 \} tcp dport \{ 80, 8080 \} accept$/,
    );
  });

  test('has a command for the answers', () => {
    const { texts } = judge([at('egress', ['eth0'], '-p tcp -m tcp --sport 80 -j DROP')], both.slice(0, 1));
    expect(texts).toEqual([
      'chain c of table netdev fw (hook egress) drops answers from 192.0.2.1:80 (TCP): by rule 1 (-p tcp -m tcp --sport 80 -j DROP). run: nft insert rule netdev fw c ip saddr 192.0.2.1 tcp sport 80 accept',
    ]);
  });
});

describe('a rule that cannot be judged', () => {
  test.each<[string, HostFilter, readonly string[]]>([
    ['may accept what the chain drops otherwise', filter(drop, '-s 10.0.0.0/8 -j ACCEPT'), ['the source address']],
    ['may accept by a mark', filter(drop, '-m mark --mark 0x1 -j ACCEPT'), ['the extension mark of iptables']],
    [
      'may drop packets to this port',
      filter({}, '-p tcp -m tcp --dport 8080 -m set --match-set bad src -j DROP'),
      ['the extension set of iptables'],
    ],
    ['drops what comes from elsewhere', filter(early, '! -s 10.0.0.0/8 -j DROP'), ['the source address']],
    ['is in a chain that was not read', filter(drop, '-j gone'), ['chain gone, whose rules Herald has not read']],
    ['leaves packets to a program', filter(drop, '-p tcp -j NFQUEUE'), ['-p tcp -j NFQUEUE']],
    ['is before the last rule', filter({}, '-m mark --mark 0x1 -j ACCEPT', '-j DROP'), ['the extension mark of iptables']],
    [
      'may accept before a rate drops',
      filter({}, '-s 10.0.0.0/8 -j ACCEPT', '-p tcp -m tcp --dport 8080 -m hashlimit --hashlimit-above 5/sec --hashlimit-name x -j DROP'),
      ['a rate (5 packets a second)'],
    ],
  ])('is told when it %s, and nothing is claimed', (_, one, looksAt) => {
    const { lost, undecided } = judge([one], both.slice(0, 1));
    expect({ lost, undecided }).toEqual({ lost: [], undecided: looksAt });
  });

  test.each<[string, HostFilter]>([
    ['drops some sources', filter({}, '-s 203.0.113.0/24 -j DROP')],
    ['drops by a mark, as network plugins do', filter({}, '-m mark --mark 0x0/0x20000 -j DROP')],
    ['is for packets that leave by an interface', filter({}, '-o cali+ -j pods', 'pods: -m mark --mark 0x1 -j ACCEPT', 'pods: -j DROP')],
    ['checks the reverse path, and there is one interface', filter(early, '-m rpfilter --invert -j DROP')],
  ])('is not told when it %s', (_, one) => {
    expect(judge([one])).toMatchObject({ lost: [], undecided: [] });
  });

  test('is told when it checks the reverse path and clients come by several interfaces', () => {
    const two = ['eth0', 'eth1'];
    expect(judge([filter(early, '-m rpfilter --invert -j DROP')], both.slice(0, 1), { entries: two }).undecided).toEqual([
      'the extension rpfilter of iptables',
    ]);
  });

  test('leaves open a loss on one of several interfaces, and all are a certain one', () => {
    const entries = ['eth0', 'eth1'];
    const one = both.slice(0, 1);
    expect(judge([filter({}, '-i eth1 -j DROP')], one, { entries })).toMatchObject({
      lost: [],
      undecided: ['the interface by which packets come in: those that come by eth1 are lost'],
    });
    expect(judge([filter({}, '-i eth+ -j DROP')], one, { entries }).lost).toEqual([ipv4]);
    expect(judge([filter({}, '-i eth0 -p tcp -m tcp --dport 8080 -j DROP')], one, { entries: [] }).undecided).toEqual([
      'the interface by which packets come in',
    ]);
  });

  test('does not hide a later chain that certainly drops', () => {
    expect(judge([filter(drop, '-s 10.0.0.0/8 -j ACCEPT'), filter({ table: 'b' }, '-p tcp -j DROP')])).toMatchObject({
      lost: [all],
      undecided: [],
    });
  });
});

describe('the sentence', () => {
  test.each<[string, HostFilter, readonly Frontend[], string]>([
    [
      'names the policy and the endpoints',
      filter({ ...drop, table: 'filter', chain: 'forward' }, '-p tcp -m multiport --dports 80,443 -j ACCEPT'),
      both,
      'chain forward of table inet filter (hook forward) drops connections to 10.244.1.10:8080 and [fd00:244:1::10]:8080 (TCP): its policy is drop, and none of its rules accepts them. run: nft insert rule inet filter forward ct status dnat accept',
    ],
    [
      'names the rule, and its chain if it is not the first',
      filter({ ...early, chain: 'pre' }, '-j user', 'user: -i eth0 -p tcp -m tcp --dport 80 -j DROP'),
      both,
      'chain pre of table inet fw (hook prerouting) drops connections to 192.0.2.1:80 and [2001:db8::1]:80 (TCP) before Herald translates them: by rule 1 of chain user (-i eth0 -p tcp -m tcp --dport 80 -j DROP). run: nft insert rule inet fw pre ip daddr 192.0.2.1 tcp dport 80 accept && nft insert rule inet fw pre ip6 daddr 2001:db8::1 tcp dport 80 accept',
    ],
    [
      'has a command of iptables for its tables',
      filter({ ...early, priority: -300, family: 'ip', table: 'raw', chain: 'PREROUTING' }, '-p tcp -m tcp --dport 80 -j DROP'),
      both,
      'chain PREROUTING of table ip raw (hook prerouting) drops connections to 192.0.2.1:80 (TCP) before Herald translates them: by rule 1 (-p tcp -m tcp --dport 80 -j DROP). run: iptables -t raw -I PREROUTING -d 192.0.2.1 -p tcp -m multiport --dports 80 -j ACCEPT',
    ],
    [
      'has a command of iptables for table mangle',
      filter({ priority: -150, family: 'ip6', table: 'mangle', chain: 'FORWARD' }, '-p tcp -j DROP'),
      both,
      'chain FORWARD of table ip6 mangle (hook forward) drops connections to [fd00:244:1::10]:8080 (TCP): by rule 1 (-p tcp -j DROP). run: ip6tables -t mangle -I FORWARD -m conntrack --ctstate DNAT -j ACCEPT',
    ],
    [
      'says that a rule rejects',
      filter({ hook: 'input', family: 'ip', table: 'filter', chain: 'INPUT' }, '-j REJECT'),
      [frontend('192.0.2.1', [backend('10.0.0.1', 6443)])],
      'chain INPUT of table ip filter (hook input) rejects connections to 10.0.0.1:6443 (TCP): by rule 1 (-j REJECT). run: iptables -I INPUT -d 10.0.0.1 -p tcp -m multiport --dports 6443 -j ACCEPT',
    ],
    [
      'has the setting of firewalld for its check of the reverse path',
      filter({ ...early, table: 'firewalld', chain: 'filter_PREROUTING' }, '-m rpfilter --invert -p tcp -m tcp --dport 80 -j DROP'),
      both.slice(1),
      'not decided whether chain filter_PREROUTING of table inet firewalld lets packets of Services through, such as those of shop/web to [2001:db8::1]:80: rule 1 (-m rpfilter --invert -p tcp -m tcp --dport 80 -j DROP) looks at the extension rpfilter of iptables. look whether connections arrive: herald check service shop/web; if they are lost here, set IPv6_rpfilter=no in /etc/firewalld/firewalld.conf and run: firewall-cmd --reload',
    ],
    [
      'says what is not decided',
      filter({ ...drop, chain: 'forward' }, '-s 10.0.0.0/8 -j ACCEPT'),
      both.slice(0, 1),
      'not decided whether chain forward of table inet fw lets packets of Services through, such as those of shop/web to 10.244.1.10:8080: rule 1 (-s 10.0.0.0/8 -j ACCEPT) looks at the source address. look whether connections arrive: herald check service shop/web; if they are lost here, run: nft insert rule inet fw forward ct status dnat accept',
    ],
  ])('%s', (_, one, frontends, expected) => {
    expect(judge([one], frontends, { entries: one.table === 'firewalld' ? ['eth0', 'eth1'] : ['eth0'] }).texts).toEqual([expected]);
  });

  test('names some of many endpoints, and counts the rest', () => {
    const many = [
      frontend(
        '192.0.2.1',
        Array.from({ length: 9 }, (_, index) => backend(`10.244.1.${index}`)),
      ),
    ];
    expect(judge([filter(drop)], many).texts[0]).toContain('to 10.244.1.0:8080, 10.244.1.1:8080, 10.244.1.2:8080 and 6 others (TCP): its');
  });
});

test('a filter that accepts every client is not followed for each Service', () => {
  const open = [
    filter({}),
    filter({}, '-m conntrack --ctstate INVALID -j DROP'),
    filter({}, '-p tcp -j ACCEPT'),
    filter({ hook: 'input' }),
  ];
  expect(selectiveFilters(open)).toEqual([]);
});
