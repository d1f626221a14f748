import { describe, expect, test } from 'vitest';
import { explainService } from '../../../../src/explain/service/service.ts';
import { reachabilityText } from '../../../../src/explain/service/reachability-text.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { HeldBackFamily } from '../../../../src/model/objects/node-state.ts';
import { cluster, metadata, type ClusterLiteral } from '../fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';
const setting = { setting: 'net.ipv4.ip_forward', value: '0', wanted: '1', effect: 'the node drops every IPv4 packet that is not its own' };
const held: HeldBackFamily = { family: 'IPv4', since: '', settled: true, reason: reason('KernelSettingWrong', setting as never) };

/** Two nodes that announce, of which n2 does not forward IPv4. */
function explained(endpoints: readonly string[], more: Partial<ClusterLiteral> = {}) {
  const session = { peer: 'tor1', address: '', since: '', localASN: 1, peerASN: 2, prefixesSent: 1, state: 'Established' } as const;
  const nodeStates = new Map(
    ['n1', 'n2'].map((name) => [
      name,
      {
        kind: 'NodeState',
        metadata: metadata(name),
        updated: new Date(now).toISOString(),
        consumed: {},
        sessions: [session],
        differing: [],
        checks: { mode: 'passive', answered: ['192.0.2.1 TCP 80'], failing: [] },
        ...(name === 'n2' ? { heldBack: [held] } : {}),
      } as const,
    ]),
  );
  const snapshot = cluster({
    services: [{ name: key, assigned: ['192.0.2.1'] }],
    slices: [{ service: key, endpoints }],
    pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
    peers: [{ name: 'tor1' }],
    advertisements: [{ name: 'all' }],
    nodes: [
      { name: 'n1', internalIPs: ['10.0.0.1'] },
      { name: 'n2', internalIPs: ['10.0.0.2'] },
    ],
    ...more,
  });
  const found = explainService({ ...snapshot, nodeStates }, key, now);
  if (found === undefined) throw new RangeError('no such Service');
  return found;
}

describe('endpoints on a node that does not forward', () => {
  test('some connections time out when other nodes have endpoints too', () => {
    const { verdict, clients = [] } = explained(['10.1.1.1@n1', '10.1.2.1@n2']);
    expect(verdict).toMatchObject({ outcome: 'partly', code: 'EndpointsCutOff', object: 'Node/n2' });
    expect(verdict.line).toMatch(
      /^Not fully served: node "n2" does not forward IPv4 .* connections that other nodes send to its endpoints time out/,
    );
    expect(clients.map(reachabilityText)[0]).toMatch(/^some connections to 192\.0\.2\.1:80\/TCP via n1 fail: /);
  });

  test('all connections time out when it has all endpoints', () => {
    const { verdict, clients = [] } = explained(['10.1.2.1@n2']);
    expect(verdict).toMatchObject({ outcome: 'notServed', code: 'EndpointsCutOff' });
    expect(clients.map(reachabilityText)[0]).toMatch(/^connections to 192\.0\.2\.1:80\/TCP come in via n1 and time out: /);
  });

  test.each<[string, readonly string[], Partial<ClusterLiteral>]>([
    ['it has none', ['10.1.1.1@n1'], {}],
    ['its endpoint is at its own address', ['10.1.1.1@n1', '10.0.0.2@n2'], {}],
    ['its endpoint is not ready', ['10.1.1.1@n1', '10.1.2.1@n2 notready'], {}],
    [
      'the policy is Local',
      ['10.1.1.1@n1', '10.1.2.1@n2'],
      { services: [{ name: key, assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local' }] },
    ],
  ])('no connection is lost when %s', (_, endpoints, more) => {
    const { verdict, clients } = explained(endpoints, more);
    expect(verdict.outcome).toBe('served');
    expect(clients).toMatchObject([{ outcome: 'answered', via: ['n1'] }]);
  });
});
