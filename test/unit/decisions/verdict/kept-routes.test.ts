import { expect, test } from 'vitest';
import { noAdvertise, noExport } from '../../../../src/decisions/announcement/communities.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { keepingCommunity, remedyOfKept } from '../../../../src/decisions/verdict/kept-routes.ts';
import type { AddressView, NodeView, PeerView } from '../../../../src/decisions/verdict/node-view.ts';
import { defined } from '../../../../src/lang/defined.ts';
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
  addresses: [
    { address, type: 'LoadBalancer', peers, refused: [], ...defined({ notPassedOn: keepingCommunity(peers) }) } satisfies AddressView,
  ],
});

test.each([
  [noAdvertise, 'no-advertise'],
  [noExport, 'no-export'],
])('routers keep routes to themselves only if each that they have carries %s (%s)', (value, name) => {
  const said = (nodes: Parameters<typeof remedyOfKept>[0], wanted = address): boolean =>
    remedyOfKept(nodes, [wanted])?.includes(`carry ${name} (`) === true;
  expect(said([nodeWith(peer([value]))])).toBe(true);
  expect(said([nodeWith(peer([value]), peer([65_000]))])).toBe(false);
  expect(said([nodeWith(peer([value])), nodeWith(peer([65_000]))])).toBe(false);
  expect(said([nodeWith(peer([value]), peer([65_000], true))])).toBe(true);
  expect(said([nodeWith()])).toBe(false);
  expect(said([nodeWith(peer([value]))], '192.0.2.2')).toBe(false);
});

test.each([
  ['10.244.1.10:8080 and 2 others', '10.244.1.10'],
  ['[fd00:244:1::10]:8080 and [fd00:244:1::11]:8080', 'fd00:244:1::10'],
])('the fix of an endpoint without a way, %s, asks the kernel for the whole address', (endpoints, asked) => {
  const because = reason('EndpointUnroutable', { node: 'n1', endpoints, route: 'no route' });
  expect(remedyText(because)).toContain(`ip route get ${asked} shows`);
});
