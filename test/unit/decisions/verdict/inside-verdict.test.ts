import { expect, test } from 'vitest';
import { explainService } from '../../../../src/explain/service/service.ts';
import type { Verdict } from '../../../../src/decisions/verdict/verdict.ts';
import type { ChecksReport, NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { cluster, metadata, type ClusterLiteral, type ServiceLiteral } from '../fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';
const unseen: ChecksReport = { mode: 'passive', answered: [], failing: [] };
const seen: ChecksReport = { mode: 'passive', answered: ['10.96.0.1 TCP 80'], failing: [] };

function verdict(service: Partial<ServiceLiteral>, checks: ChecksReport, more: Partial<ClusterLiteral> = {}): Verdict {
  const nodeStates = new Map(
    ['n1', 'n2'].map((name): [string, NodeState] => [
      name,
      {
        kind: 'NodeState',
        metadata: metadata(name),
        updated: new Date(now).toISOString(),
        consumed: {},
        sessions: [],
        differing: [],
        checks,
      },
    ]),
  );
  const snapshot = cluster({
    services: [{ name: key, type: 'ClusterIP', clusterIPs: ['10.96.0.1'], ports: ['http:80/TCP'], ...service }],
    slices: [{ service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1'] }],
    nodes: [{ name: 'n1' }, { name: 'n2' }],
    config: { services: 'all' },
    ...more,
  });
  const explanation = explainService({ ...snapshot, nodeStates }, key, now);
  if (explanation === undefined) throw new RangeError('no such Service');
  return explanation.verdict;
}

test('a ClusterIP Service that Herald forwards is not checked until a connection is answered', () => {
  expect(verdict({}, unseen).line).toBe(
    'Forwarded, not checked: 10.96.0.1 on n1 and n2; not every address and port saw a connection in the last 10 minutes. Check it: herald check service shop/web.',
  );
  expect(verdict({}, seen)).toEqual({
    outcome: 'served',
    line: 'Served: 10.96.0.1 on n1 and n2; connections were answered in the last 10 minutes.',
  });
});

test('a ClusterIP Service without endpoints is not served, with port and targetPort', () => {
  expect(verdict({}, unseen, { slices: [] })).toMatchObject({
    outcome: 'notServed',
    code: 'PortWithoutEndpoint',
    object: 'Service/shop/web',
  });
});

test('internalTrafficPolicy Local without a local pod is named, with the node', () => {
  const found = verdict({ internalTrafficPolicy: 'Local' }, unseen);
  expect(found.code).toBe('NoLocalEndpoints');
  expect(found.line).toMatch(
    /^Forwarded, but not by every node: internalTrafficPolicy is Local and no endpoint on node "n2" can take traffic \(on n2\)|^Forwarded, but not by every node: .*node "n2"/,
  );
});

test('endpoints that refuse connections make a ClusterIP Service not served', () => {
  const because = reason('EndpointRefuses', { node: 'n1', endpoints: '10.244.1.1:8080' });
  const failing = [{ service: key, family: 'IPv4', port: '80/TCP', areAll: true, reason: because }] as const;
  expect(verdict({}, { ...seen, failing })).toMatchObject({ outcome: 'notServed', code: 'EndpointRefuses' });
});

test('a NodePort Service names its NodePorts', () => {
  expect(verdict({ type: 'NodePort', ports: ['http:80/TCP@30080'] }, unseen).line).toContain(
    '10.96.0.1 and NodePort 30080/TCP on n1 and n2',
  );
});

test('beside kube-proxy it is not known whether a ClusterIP Service is served, and its type is no mistake', () => {
  expect(verdict({}, unseen, { config: { services: 'external' } })).toEqual({
    outcome: 'unknown',
    line: 'Not known whether it is served: HeraldConfig (services) leaves 10.96.0.1 to another program, such as kube-proxy.',
  });
});
