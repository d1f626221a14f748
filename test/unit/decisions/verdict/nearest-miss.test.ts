import { describe, expect, test } from 'vitest';
import { causesOf } from '../../../../src/decisions/verdict/causes/causes.ts';
import type { NodeView } from '../../../../src/decisions/verdict/node-view.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';

const address = '192.0.2.1';

const view = (node: string, because: Reason): NodeView => ({
  node,
  frontends: 1,
  elsewhere: 0,
  forwarding: [],
  addresses: [{ address, type: 'LoadBalancer', reason: because, peers: [], refused: [] }],
});

describe('the causes of an address that no node announces', () => {
  test('leave out nodes that no BGPAdvertisement selects when a selected node is the nearest miss', () => {
    const nodes = [
      view('n1', reason('NodeNotSelected', { node: 'n1', advertisements: 'BGPAdvertisement all' })),
      view('n2', reason('NodeNotSelected', { node: 'n2', advertisements: 'BGPAdvertisement all' })),
      view('n3', reason('NoLocalEndpoints', { node: 'n3', policy: 'externalTrafficPolicy' })),
    ];
    expect(causesOf(nodes, address)).toEqual([{ reason: nodes[2]?.addresses[0]?.reason, nodes: ['n3'] }]);
  });

  test('name the drained node, which would else announce, when other nodes have no local endpoint', () => {
    const drained = reason('NodeDrained', { node: 'n1' });
    const nodes = [
      view('n1', drained),
      view('n2', reason('NoLocalEndpoints', { node: 'n2', policy: 'externalTrafficPolicy' })),
      view('n3', reason('NoLocalEndpoints', { node: 'n3', policy: 'externalTrafficPolicy' })),
    ];
    expect(causesOf(nodes, address)).toEqual([{ reason: drained, nodes: ['n1'] }]);
  });

  test('contain only failures when one node fails and the others do as configured', () => {
    const failure = reason('NodeNetworkUnavailable', { node: 'n2' });
    const nodes = [view('n1', reason('NoLocalEndpoints', { node: 'n1', policy: 'externalTrafficPolicy' })), view('n2', failure)];
    expect(causesOf(nodes, address)).toEqual([{ reason: failure, nodes: ['n2'] }]);
  });

  test('name all nodes when no BGPAdvertisement selects any', () => {
    const nodes = ['n1', 'n2'].map((node) => view(node, reason('NodeNotSelected', { node, advertisements: 'BGPAdvertisement all' })));
    expect(causesOf(nodes, address).map((cause) => cause.nodes)).toEqual([['n1', 'n2']]);
  });
});
