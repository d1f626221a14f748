import { describe, expect, test } from 'vitest';
import { nodeViewsOf } from '../../../../src/decisions/verdict/node-view.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { advertisement, metadata, node, peer, pool, service, slice } from '../fixtures.ts';

const now = new VirtualClock().date().getTime();

function report(change: Partial<NodeState>, secondsAgo = 0): NodeState {
  const updated = new Date(now - 1000 * secondsAgo).toISOString();
  return { kind: 'NodeState', metadata: metadata('n1'), updated, consumed: {}, sessions: [], differing: [], ...change };
}

const objects = [
  node({ name: 'n1', internalIPs: ['10.0.0.1'] }),
  pool({ name: 'main', addresses: ['192.0.2.0/24'] }),
  peer({ name: 'tor1' }),
  service({ name: 'shop/web', assigned: ['192.0.2.1'] }),
  slice({ service: 'shop/web', endpoints: ['10.1.0.1@n1'] }),
];

function peersOf(...more: readonly HeraldObject[]): readonly { readonly peer: string; readonly code: string | undefined }[] {
  const all = new Store();
  for (const object of [...objects, ...more]) all.upsert(object);
  const web = all.services.get('shop/web');
  if (web === undefined) throw new Error('there is no Service');
  const [address] = nodeViewsOf(all, web, now)('n1').addresses;
  return (address?.peers ?? []).map(({ peer: name, reason: because }) => ({ peer: name, code: because?.code }));
}

describe('the reason why a node does not announce', () => {
  test('leaves out a BGPPeer without its Secret when no advertisement names that peer', () => {
    const broken = peer({ name: 'tor2', peerAddress: '10.0.0.253', passwordSecret: { name: 'gone', namespace: 'n' } });
    const codes = peersOf(broken, advertisement({ name: 'all', peers: ['tor1'] }), report({}));
    expect(codes).toContainEqual({ peer: 'tor2', code: 'PeerNotInAdvertisement' });
  });

  test('is the failed data plane when the agent has opened no session because of it', () => {
    const failed = report({ problem: reason('DataPlaneFailed', { error: 'operation not permitted' }) });
    expect(peersOf(advertisement({ name: 'all' }), failed)).toEqual([{ peer: 'tor1', code: 'DataPlaneFailed' }]);
  });

  test('is the stop of the agent also when its last report is old', () => {
    const stopped = report({ problem: reason('AgentStopped', { node: 'n1' }) }, 3600);
    expect(peersOf(advertisement({ name: 'all' }), stopped)).toEqual([{ peer: 'tor1', code: 'AgentStopped' }]);
  });
});
