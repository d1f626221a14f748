import { expect, test } from 'vitest';
import { noAdvertise } from '../../../../src/decisions/announcement/communities.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { areKeptByRouters, isKept } from '../../../../src/decisions/verdict/kept-routes.ts';
import type { AddressView, NodeView, PeerView } from '../../../../src/decisions/verdict/node-view.ts';
import { reason, remedyText } from '../../../../src/model/reasons.ts';
import { parsePrefix } from '../../../../src/net/prefix.ts';

const address = '192.0.2.1';

function peer(values: readonly number[], down = false): PeerView {
  const prefix = parsePrefix(`${address}/32`);
  if (!prefix.ok) throw new RangeError('no prefix');
  const communities = values.map((value) => ({ kind: 'standard' as const, value }));
  const intent: RouteIntent = { prefix: prefix.value, communities, asPathPrepend: 0, aggregate: false };
  return {
    peer: 'tor1',
    prefixes: [`${address}/32`],
    intents: [intent],
    ...(down ? { reason: reason('AgentSilent', { node: 'n1' }) } : {}),
  };
}

const nodeWith = (...peers: readonly PeerView[]): Pick<NodeView, 'addresses'> => ({
  addresses: [{ address, type: 'LoadBalancer', peers, refused: [], ...(isKept(peers) ? { notPassedOn: true } : {}) } satisfies AddressView],
});

test('routers keep routes to themselves only if each that they have carries no-advertise', () => {
  expect(areKeptByRouters([nodeWith(peer([noAdvertise]))], [address])).toBe(true);
  expect(areKeptByRouters([nodeWith(peer([noAdvertise]), peer([65_000]))], [address])).toBe(false);
  expect(areKeptByRouters([nodeWith(peer([noAdvertise])), nodeWith(peer([65_000]))], [address])).toBe(false);
  expect(areKeptByRouters([nodeWith(peer([noAdvertise]), peer([65_000], true))], [address])).toBe(true);
  expect(areKeptByRouters([nodeWith()], [address])).toBe(false);
  expect(areKeptByRouters([nodeWith(peer([noAdvertise]))], ['192.0.2.2'])).toBe(false);
});

test.each([
  ['10.244.1.10:8080 and 2 others', '10.244.1.10'],
  ['[fd00:244:1::10]:8080 and [fd00:244:1::11]:8080', 'fd00:244:1::10'],
])('the fix of an endpoint without a way, %s, asks the kernel for the whole address', (endpoints, asked) => {
  const because = reason('EndpointUnroutable', { node: 'n1', endpoints, route: 'no route' });
  expect(remedyText(because)).toContain(`ip route get ${asked} shows`);
});
