import { expect, test } from 'vitest';
import { serviceConditions } from '../../../../src/controller/services/service-conditions.ts';
import { cluster, type ClusterLiteral } from '../../decisions/fixtures.ts';

const peer = { tor: '192.0.2.254' };
const lan = { eth0: ['192.0.2.0/24', '2001:db8::/64'] };
const both: ClusterLiteral = {
  services: [{ name: 'web', assigned: ['192.0.2.1', '2001:db8::1'], ipFamilies: [4, 6] }],
  slices: [
    { service: 'web', name: 'web-4', endpoints: ['10.1.0.1@a', '10.1.0.2@b'] },
    { service: 'web', name: 'web-6', endpoints: ['fd10::1@a', 'fd10::2@b'] },
  ],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/28', '2001:db8::/112'] }],
  advertisements: [{ name: 'routers' }],
  l2Advertisements: [{ name: 'office' }],
  peers: [{ name: 'tor', dualStackAddressFamily: true }],
  nodes: [{ name: 'a' }, { name: 'b' }],
  running: { a: peer, b: peer },
  links: { a: lan, b: lan },
};
const plain = 'Every address of the Service is announced by at least one node';

function announced(more: ClusterLiteral = {}): readonly (string | undefined)[] {
  const snapshot = cluster({ ...both, ...more });
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const conditions = serviceConditions(snapshot, web, { reason: undefined, details: [] }, Date.parse('2026-01-01T00:00:05Z'));
  const condition = conditions.find(({ type }) => type === 'herald.dev/Announced');
  return [condition?.status, condition?.message];
}

test('the condition Announced names both ways while routers and links have every address', () => {
  expect(announced()).toEqual(['True', `${plain}, by BGP and by ARP or NDP`]);
});

test.each([
  ['there is no BGPAdvertisement', { advertisements: [] }],
  ['no node has a session', { running: { a: {}, b: {} } }],
  ['no node has an interface in the network', { links: { a: {}, b: {} } }],
  ['the L2Advertisement names an interface that no node has', { l2Advertisements: [{ name: 'office', interfaces: ['eth1'] }] }],
] as [string, ClusterLiteral][])('the condition Announced names none when %s', (_, more) => {
  expect(announced(more)).toEqual(['True', plain]);
});

test('Announced says that machines of the link get no answer while there is no L2Advertisement, with both remedies', () => {
  const [status, message] = announced({ l2Advertisements: [] });
  expect(status).toBe('True');
  expect(message).toMatch(
    /^Every address .*by at least one node\. But 192\.0\.2\.1 of Service default\/web .*Herald does not answer them\. Fix: /,
  );
  expect(message).toMatch(/create an L2Advertisement with spec\.ipAddressPools: \[prod\].*or set answerOnLocalLinks: true in HeraldConfig/);
});

test('Announced names both ways without an L2Advertisement when HeraldConfig has answerOnLocalLinks', () => {
  const more = { l2Advertisements: [], config: { answerOnLocalLinks: true } };
  expect(announced(more)).toEqual(['True', `${plain}, by BGP and by ARP or NDP`]);
  expect(announced({ ...more, links: { a: {}, b: {} } })).toEqual(['True', plain]);
});

test('Announced names both ways when the owner of the address has no session and another node has one', () => {
  expect(announced({ running: { a: {}, b: peer } })).toEqual(['True', `${plain}, by BGP and by ARP or NDP`]);
  expect(announced({ running: { a: peer, b: {} } })).toEqual(['True', `${plain}, by BGP and by ARP or NDP`]);
  expect(announced({ links: { a: {}, b: lan } })).toEqual(['True', `${plain}, by BGP and by ARP or NDP`]);
});
