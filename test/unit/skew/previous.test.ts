import { expect, test } from 'vitest';
import { serviceConditions } from '../../../src/controller/services/service-conditions.ts';
import { nodeStateManifest } from '../../../src/model/status-manifest.ts';
import { readServiceRecord } from '../../../src/model/parse/service/service-record.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { isRecorded } from '../../../src/sources/kubernetes/records/service-status.ts';
import { rawObject } from '../../../src/kube/raw-object.ts';
import { documentsIn, read, snapshotOf } from './documents.ts';

const objects = documentsIn('v0/objects.yaml');

test.each(objects.map((document) => [String(document['kind']), document] as const))(
  'a %s of the previous version is read without problems or warnings',
  (_, document) => {
    const { object, problems, warnings } = read(document);
    expect([...problems, ...warnings]).toEqual([]);
    expect(object).toBeDefined();
  },
);

test('objects of the previous version keep their meaning', () => {
  const { config, pools, peers, advertisements } = snapshotOf('v0/objects.yaml');
  expect(config).toMatchObject({ services: 'external', drainSeconds: 7, hashSlots: 1021, defaultClass: true, masqueradeBit: 13 });
  expect(pools.get('public')).toMatchObject({
    autoAssign: true,
    avoidBuggyIPs: true,
    draining: false,
    keepReleasedSeconds: 60,
    reservations: [{ service: 'shop/web' }],
    serviceAllocation: { priority: 10, namespaces: ['shop'] },
  });
  expect(peers.get('tor1')).toMatchObject({ holdTimeSeconds: 90, keepaliveTimeSeconds: 30, ebgpMultiHop: true, peerPort: 179 });
  expect(advertisements.get('all')).toMatchObject({ aggregationLength: 32, localPref: 100, addressTypes: ['LoadBalancer', 'ClusterIP'] });
});

test('an agent report of the previous version is read completely', () => {
  const [document] = documentsIn('v0/node-state.yaml');
  const { object } = read(document);
  if (object?.kind !== 'NodeState') throw new Error('it is not read');
  const { status } = nodeStateManifest(object) as { status: unknown };
  expect(status).toEqual(document?.['status']);
});

test('an agent report of the previous version leads to the same conditions', () => {
  const snapshot = snapshotOf('v0/node-state.yaml', 'v0/service.yaml');
  const service = snapshot.services.get('shop/web');
  if (service === undefined) throw new Error('there is no Service');
  const now = Date.parse('2026-01-01T00:00:10Z');
  const programmed = serviceConditions(snapshot, service, { reason: undefined, details: [] }, now)[1];
  expect(programmed).toMatchObject({ type: 'herald.dev/Programmed', status: 'True' });
  const slow = { ...service, metadata: { ...service.metadata, name: 'slow' } };
  expect(serviceConditions(snapshot, slow, { reason: undefined, details: [] }, now)[1]).toMatchObject({ reason: 'FrontendQuarantined' });
});

test('a Service status written by the previous version is read as its record', () => {
  const [document] = documentsIn('v0/service.yaml');
  const service = rawObject(document);
  expect(isRecorded(service)).toBe(true);
  const { ingress, problems } = readServiceRecord(service);
  expect(problems).toEqual([]);
  expect(ingress?.map(({ address }) => address !== undefined && formatAddress(address))).toEqual(['192.0.2.7']);
});
