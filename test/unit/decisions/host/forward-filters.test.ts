import { describe, expect, test } from 'vitest';
import { judgeForwardFilters } from '../../../../src/decisions/host/forward-filters.ts';
import type { FilterAction, FilterRule, ForwardFilter } from '../../../../src/net/forward-filter.ts';
import { fix, says } from '../../../../src/model/reasons.ts';

const actions: Readonly<Record<string, FilterAction>> = {
  accept: { kind: 'accept' },
  drop: { kind: 'drop' },
  reject: { kind: 'reject' },
  return: { kind: 'return' },
  none: { kind: 'none' },
};

/** "all accept", "some drop", "translated accept", "all jump OTHER". */
const rule = (text: string): FilterRule => {
  const [packets = 'all', verb = '', chain = ''] = text.split(' ');
  const action = verb === 'jump' || verb === 'goto' ? { kind: verb, chain } : (actions[verb] ?? { kind: 'none' });
  return { packets: packets as FilterRule['packets'], action } as FilterRule;
};

function filter(
  policy: 'accept' | 'drop',
  chains: Readonly<Record<string, readonly string[]>>,
  more: Partial<ForwardFilter> = {},
): ForwardFilter {
  const rules = new Map(Object.entries(chains).map(([name, list]) => [name, list.map(rule)]));
  return { backend: 'nft', family: 'inet', table: 'filter', chain: 'forward', policy, chains: rules, ...more };
}

const closed = (policy: 'accept' | 'drop', forward: readonly string[], others: Readonly<Record<string, readonly string[]>> = {}): boolean =>
  judgeForwardFilters([filter(policy, { forward, ...others })]).length > 0;

describe('a filter of another program', () => {
  test.each<[string, 'accept' | 'drop', readonly string[], Readonly<Record<string, readonly string[]>>, boolean]>([
    ['accepts', 'accept', [], {}, false],
    ['has policy drop', 'drop', [], {}, true],
    ['has policy drop and accepts answers and some others', 'drop', ['some accept', 'some accept'], {}, true],
    ['has policy drop and accepts everything before', 'drop', ['some drop', 'all accept'], {}, false],
    ['has policy drop and accepts translated connections', 'drop', ['translated accept'], {}, false],
    ['ends with a rule that rejects all', 'accept', ['some accept', 'all reject'], {}, true],
    ['ends with a rule that drops all', 'accept', ['all drop', 'all accept'], {}, true],
    ['drops some', 'accept', ['some drop'], {}, false],
    ['rejects translated connections', 'accept', ['translated reject'], {}, true],
    ['accepts translated connections before it rejects all', 'accept', ['translated accept', 'all reject'], {}, false],
    ['leads to a chain that accepts', 'drop', ['all jump user'], { user: ['all accept'] }, false],
    ['leads some packets to a chain that accepts', 'drop', ['some jump user'], { user: ['all accept'] }, true],
    ['leads to a chain that returns', 'drop', ['all jump user', 'all accept'], { user: ['all return', 'all drop'] }, false],
    ['goes to a chain that ends, and comes to its policy', 'drop', ['all goto user', 'all accept'], { user: ['some accept'] }, true],
    ['leads to a chain that is not known', 'accept', ['all jump gone', 'all none'], {}, false],
    ['leads in a circle', 'drop', ['all jump a'], { a: ['all jump a'] }, true],
  ])('that %s', (_, policy, forward, others, expected) => {
    expect(closed(policy, forward, others)).toBe(expected);
  });

  test('is named, with how it drops', () => {
    const [because] = judgeForwardFilters([filter('drop', { forward: [] })]);
    expect(because && says(because)).toBe(
      'chain forward of table inet filter drops the packets of Services that none of its other rules accepts: its policy is drop',
    );
    const [other] = judgeForwardFilters([
      filter('accept', { FORWARD: ['all reject'] }, { backend: 'iptables', family: 'ip6', chain: 'FORWARD' }),
    ]);
    expect(other && says(other)).toBe(
      'chain FORWARD of ip6tables-legacy drops the packets of Services that none of its other rules accepts: a rule for all packets rejects them',
    );
  });

  test.each<[string, ForwardFilter, string]>([
    ['plain nft', filter('drop', {}), 'run: nft insert rule inet filter forward ct status dnat accept'],
    ['iptables on nft', filter('drop', {}, { family: 'ip', chain: 'FORWARD' }), 'run: iptables -P FORWARD ACCEPT'],
    [
      'legacy ip6tables',
      filter('drop', {}, { backend: 'iptables', family: 'ip6', chain: 'FORWARD' }),
      'run: ip6tables-legacy -P FORWARD ACCEPT',
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
  ])('of %s comes with what to do', (_, one, remedy) => {
    expect(judgeForwardFilters([one]).map(fix)).toEqual([remedy]);
  });
});
