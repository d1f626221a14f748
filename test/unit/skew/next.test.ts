import { describe, expect, test } from 'vitest';
import { serviceConditions } from '../../../src/controller/services/service-conditions.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { rawObject } from '../../../src/kube/raw-object.ts';
import { address } from '../../../src/net/address.ts';
import { ourConditions, statusPatch } from '../../../src/sources/kubernetes/records/service-status.ts';
import { documentsIn, read, snapshotOf } from './documents.ts';

describe('object with fields of the next version', () => {
  const unknown: Record<string, string[]> = {
    HeraldConfig: ['spec.flowTable'],
    IPAddressPool: ['spec.serviceAllocation.costs', 'spec.sharding'],
    BGPPeer: ['spec.tcpAO'],
    BGPAdvertisement: ['spec.otc'],
  };

  test.each(documentsIn('next/objects.yaml').map((document) => [String(document['kind']), document] as const))(
    'a source in a cluster leaves unknown fields out with a warning for each: %s',
    (kind, document) => {
      const { object, problems, warnings } = read(document);
      expect(object).toBeDefined();
      expect(problems).toEqual([]);
      expect(warnings.map(({ field }) => field).toSorted()).toEqual(unknown[kind]);
    },
  );

  test('its known fields are in force', () => {
    const { config, pools, peers, advertisements } = snapshotOf('next/objects.yaml');
    expect(config).toMatchObject({ services: 'external', drainSeconds: 7 });
    expect(pools.get('public')?.serviceAllocation).toMatchObject({ priority: 10 });
    expect(peers.get('tor1')).toMatchObject({ peerASN: 64_513 });
    expect(advertisements.get('all')?.ipAddressPools).toEqual(['public']);
  });

  test('a file with unknown fields is refused, because no other program checks it', () => {
    for (const document of documentsIn('next/objects.yaml')) expect(parseObject(document).object).toBeUndefined();
  });

  test('an unknown value of a known field makes the object unusable', () => {
    const { object, problems } = read({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'HeraldConfig',
      metadata: { name: 'default' },
      spec: { services: 'some' },
    });
    expect(object).toBeUndefined();
    expect(problems.map(({ field }) => field)).toEqual(['spec.services']);
  });
});

describe('agent report of the next version', () => {
  const snapshot = snapshotOf('next/node-state.yaml', 'v0/service.yaml');
  const programmedOf = (name: string): unknown => {
    const service = snapshot.services.get('shop/web');
    if (service === undefined) throw new Error('there is no Service');
    const renamed = { ...service, metadata: { ...service.metadata, name } };
    return serviceConditions(snapshot, renamed, { reason: undefined, details: [] }, Date.parse('2026-01-01T00:00:10Z'))[1];
  };

  test('known parts are read and unknown ones become UnknownReason', () => {
    const report = snapshot.nodeStates.get('n1');
    expect(report?.sessions.map(({ peer }) => peer)).toEqual(['tor1']);
    expect(report?.consumed['Service']).toBe('70');
    expect(report?.host).toEqual([{ code: 'UnknownReason', details: { code: 'ClockUnsynchronised', text: 'the clock is 12 s off' } }]);
  });

  test('a Service with an unknown fault code is reported as not programmed', () => {
    expect(programmedOf('slow')).toMatchObject({ status: 'False', reason: 'UnknownReason' });
  });

  test('a Service whose difference is not readable has status Unknown rather than True', () => {
    expect(programmedOf('web')).toMatchObject({ status: 'Unknown', reason: 'ReportCut' });
  });
});

test('conditions of a newer controller are removed, because they would stay true for ever', () => {
  const [document] = documentsIn('v0/service.yaml');
  const service = rawObject(document);
  const status = service['status'] as { conditions: object[] };
  const metered = {
    type: 'herald.dev/Metered',
    status: 'True',
    reason: 'Metered',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const before = ourConditions({ ...service, status: { ...status, conditions: [...status.conditions, metered] } });
  const kept = before.filter(({ type }) => type !== metered.type);
  const ingress = [{ address: address('192.0.2.7'), ipMode: 'VIP' as const }];
  const patch = statusPatch({ uid: 'u', resourceVersion: '1' }, { ingress, conditions: kept, before });
  expect(JSON.stringify(patch)).toContain('{"$patch":"delete","type":"herald.dev/Metered"}');
});
