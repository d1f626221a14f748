import { describe, expect, test } from 'vitest';
import { nodeMark, tunnelNextHop } from '../../../../src/dataplane/ruleset/direct-return-identity.ts';
import { frontendElements, frontendProblem, nodeElements } from '../../../../src/dataplane/ruleset/elements.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import type { Frontend } from '../../../../src/net/frontend.ts';
import { elementTexts } from '../nftables/netlink/random-elements.ts';

const backend = (last: number, at: string, more: Partial<Frontend['backends'][number]> = {}): Frontend['backends'][number] => ({
  address: address(`10.244.0.${last}`),
  port: 8080,
  local: false,
  node: address(at),
  ...more,
});

/** Slots lead to: this node, a node reached by routes, a node reached by frames only, a node without a path. */
const frontend = (directReturn: Frontend['directReturn']): Frontend => {
  const plain: Frontend = {
    match: { kind: 'address', address: address('192.0.2.1'), protocol: 'TCP', port: 80 },
    scope: 'external',
    policy: 'Cluster',
    backends: [
      backend(1, '10.0.0.1', { local: true }),
      backend(2, '10.0.0.2', { path: { ingress: true, routed: 'link' } }),
      backend(3, '10.0.0.3', { path: { ingress: true } }),
      backend(4, '10.0.0.4'),
    ],
    localBackends: [],
    slots: { hashed: 'connection', backendOf: Uint16Array.from({ length: 251 }, (_, slot) => slot % 4) },
  };
  return directReturn === undefined ? plain : { ...plain, directReturn };
};

function texts(of: Frontend): string[] {
  const problem = frontendProblem(of);
  return problem === undefined ? elementTexts(frontendElements(of)) : [problem];
}
const inSet = (all: readonly string[], set: string): string[] => all.filter((text) => text.startsWith(`4 ${set} `));

describe('elements of a frontend with direct server return', () => {
  const mark = `0x${nodeMark(address('10.0.0.2')).toString(16)}`;

  test('local slots keep the client’s address, and routed slots have marks', () => {
    const all = texts(frontend({}));
    expect(inSet(all, 'direct_addresses')).toEqual(['4 direct_addresses 192.0.2.1']);
    expect(inSet(all, 'direct_local')).toHaveLength(63);
    expect(inSet(all, 'direct_local')).toContain('4 direct_local 192.0.2.1 . tcp . 80 . 0:4');
    expect(inSet(all, 'passed_on')).toHaveLength(63);
    expect(inSet(all, 'passed_on')).toContain(`4 passed_on 192.0.2.1 . tcp . 80 . 0:5 : ${mark}`);
    expect(inSet(all, 'frontends')).toEqual(['4 frontends 192.0.2.1 . tcp . 80 : 43:fb']);
    // Every slot still has a backend, because packets that are not sent on are translated.
    expect(inSet(all, 'backends')).toHaveLength(251);
  });

  test('the other elements are the same as without it, except the class', () => {
    const [plain, direct] = [texts(frontend(undefined)), texts(frontend({}))];
    expect(plain.filter((text) => !direct.includes(text))).toEqual(['4 frontends 192.0.2.1 . tcp . 80 : 23:fb']);
  });

  test.each([
    [1410, '4 segment_1410 192.0.2.1'],
    [1400, '4 segment_1370 192.0.2.1'],
    [9000, '4 segment_8910 192.0.2.1'],
    [536, '4 segment_536 192.0.2.1'],
  ])('clients are told segments of %i octets at most', (segmentSize, expected) => {
    expect(texts(frontend({ segmentSize })).filter((text) => text.includes('segment'))).toEqual([expected]);
  });
});

test('link addresses of other nodes are in both families', () => {
  const node = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };
  const directReturn = { addresses: [], interfaces: [], targets: [], linkAddresses: ['02:00:00:00:00:02'], tunnels: false };
  const links = (elements: ReturnType<typeof nodeElements>): string[] =>
    elementTexts(elements).filter((text) => text.includes('node_links'));
  expect(links(nodeElements({ ...node, directReturn }))).toEqual(['4 node_links 02:00:00:00:00:02', '6 node_links 02:00:00:00:00:02']);
  expect(links(nodeElements(node))).toEqual([]);
});

test('ICMP errors are copied to the first nodes of each family on the link, and to the first ones behind the tunnel', () => {
  const node = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };
  const onLink = Array.from({ length: 70 }, (_, index) => ({
    node: address(`10.0.0.${index + 1}`),
    ingress: true,
    routed: 'link' as const,
  }));
  const targets = [
    ...onLink,
    { node: address('fd00::1'), ingress: false, routed: 'vxlan' as const },
    { node: address('fd00::2'), ingress: true },
  ];
  const directReturn = { addresses: [], interfaces: [], targets, linkAddresses: [], tunnels: false };
  const texts = elementTexts(nodeElements({ ...node, directReturn }));
  const receivers = texts.filter((text) => text.includes('error_receivers'));
  const behind = texts.filter((text) => text.includes('error_tunnels'));
  expect(behind).toEqual([`6 error_tunnels 0:1 : ${formatAddress(tunnelNextHop(address('fd00::1')))}`]);
  expect(receivers).toHaveLength(65);
  expect(receivers).toContain('4 error_receivers 0:1 : 10.0.0.1');
  expect(receivers).toContain('4 error_receivers 0:40 : 10.0.0.64');
  expect(receivers).toContain('6 error_receivers 0:1 : fd00::2');
});
