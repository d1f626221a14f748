import { describe, expect, test } from 'vitest';
import { natChains, natRules } from '../../../../src/dataplane/host/nft-nats.ts';
import { judgeNats } from '../../../../src/decisions/host/foreign-nat.ts';
import { address } from '../../../../src/net/address.ts';
import { frontendKey, type FrontendMatch } from '../../../../src/net/frontend.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const ours = -105;
const base = { hook: 'prerouting', family: 'inet', table: 'other', chain: 'pre', priority: -150 } as const;
const match = (left: object, right: unknown, op = '=='): object => ({ match: { op, left, right } });
const daddr = (right: unknown, protocol = 'ip'): object => match({ payload: { protocol, field: 'daddr' } }, right);
const dport = (right: unknown, protocol = 'tcp'): object => match({ payload: { protocol, field: 'dport' } }, right);
const dnat = { dnat: { addr: '10.0.0.1', port: 8080 } };
const chain = (...rules: readonly (readonly object[])[]): object => ({ nftables: rules.map((expr) => ({ rule: { expr } })) });

const web: FrontendMatch = { kind: 'address', address: address('198.51.100.10'), protocol: 'TCP', port: 80 };
const web6: FrontendMatch = { kind: 'address', address: address('2001:db8::10'), protocol: 'TCP', port: 80 };
const nodePort: FrontendMatch = { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_080 };

/** Returns the frontends, by key, that rules of these chains may take. */
async function taken(chains: Readonly<Record<string, object>>, family: 'ip' | 'ip6' | 'inet' = 'inet'): Promise<string[]> {
  const rules = await natRules({ ...base, family }, async (name) => chains[name], 100);
  return [web, web6, nodePort].flatMap((frontend) =>
    judgeNats(rules, [['shop/web', [frontend]]], [prefix('10.0.0.11/32')]).map(() => frontendKey(frontend)),
  );
}

describe('chains that translate before Herald', () => {
  const listed = (more: object): unknown => ({
    nftables: [{ chain: { family: 'ip', table: 'other', name: 'pre', type: 'nat', hook: 'prerouting', prio: -150, ...more } }],
  });

  test.each<[string, object, number]>([
    ['an earlier chain counts', {}, 1],
    ['an earlier chain on output counts', { hook: 'output' }, 1],
    ["a chain at iptables' priority, as of kube-proxy and CNI portmap, runs after Herald", { prio: -100 }, 0],
    ["Herald's own chain does not count", { table: 'herald' }, 0],
    ['a chain that translates sources does not count', { hook: 'postrouting', prio: -200 }, 0],
    ['a filter does not count', { type: 'filter' }, 0],
  ])('%s', (_, more, count) => {
    expect(natChains(listed(more), 'herald', ours)).toHaveLength(count);
  });
});

describe('rules that translate', () => {
  const [v4, v6, np] = [web, web6, nodePort].map(frontendKey);

  test.each<[string, readonly object[], readonly (string | undefined)[]]>([
    ['an address and a port', [daddr('198.51.100.10'), dport(80), dnat], [v4]],
    ['another address', [daddr('198.51.100.11'), dport(80), dnat], []],
    ['another port', [daddr('198.51.100.10'), dport(81), dnat], []],
    ['another protocol', [dport(80, 'udp'), dnat], []],
    ['a port at any address', [dport({ set: [79, { range: [80, 90] }] }), dnat], [v4, v6]],
    ['a network', [daddr({ prefix: { addr: '198.51.100.0', len: 24 } }), dnat], [v4]],
    ['an IPv6 address', [daddr('2001:db8::10', 'ip6'), { redirect: { port: 1 } }], [v6]],
    ['local addresses', [match({ fib: { result: 'type', flags: ['daddr'] } }, 'local'), dport(30_080), dnat], [np]],
    ['the port at the address of the node', [daddr('10.0.0.11'), dport(30_080), dnat], [np]],
    ['a condition that is not understood', [daddr('@some'), dport(80), dnat], [v4, v6]],
    ['a target of iptables', [daddr('198.51.100.10'), dport(80), { counter: null }, { xt: { type: 'target', name: 'DNAT' } }], [v4]],
    ['no translation', [dport(80), { accept: null }], []],
  ])('a rule for %s', async (_, rule, expected) => {
    expect(await taken({ pre: chain(rule) })).toEqual(expected);
  });

  test('a jump passes its conditions on', async () => {
    const chains = { pre: chain([daddr('198.51.100.10'), { jump: { target: 'sub' } }]), sub: chain([dport(80), dnat]) };
    expect(await taken(chains)).toEqual([v4]);
  });

  test('a table of one family takes only that family', async () => {
    expect(await taken({ pre: chain([dport(80), dnat]) }, 'ip6')).toEqual([v6]);
  });
});
