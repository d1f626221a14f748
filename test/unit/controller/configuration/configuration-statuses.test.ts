import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import { limits } from '../../../../src/controller/limits.ts';
import type { Condition, ObjectRecord, RecordedStatus, ServiceStatus, StatusWriter } from '../../../../src/controller/status-writer.ts';
import { defined } from '../../../../src/lang/defined.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import type { ObjectEvent, ObjectReference } from '../../../../src/model/objects/object-event.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { advertisement, config, metadata, node, peer, pool, service } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

/** Stores the status of configuration objects, as an API server does. */
class Objects implements StatusWriter {
  readonly statuses = new Map<string, ObjectRecord>();
  readonly source: TestSource;
  writes: string[] = [];
  failing = false;

  constructor(source: TestSource) {
    this.source = source;
  }

  async recorded(): Promise<RecordedStatus> {
    return {
      addresses: new Map(),
      unreadable: new Map(),
      pools: [...this.statuses.keys()].flatMap((key) => key.split('IPAddressPool/')[1] ?? []),
    };
  }

  async writeService(key: ServiceKey, { ingress }: ServiceStatus): Promise<void> {
    this.source.record(key, ingress);
  }

  async releaseService(key: ServiceKey): Promise<void> {
    this.source.record(key, undefined);
  }

  async writeObject({ kind, name }: ObjectReference, status: ObjectRecord): Promise<readonly Condition[]> {
    const key = `${kind}/${name}`;
    this.writes.push(key);
    if (this.failing) throw new Error('no');
    const before = this.statuses.get(key)?.conditions ?? [];
    this.statuses.set(key, status);
    return before;
  }

  async removeObject(kind: string, name: string): Promise<void> {
    this.statuses.delete(`${kind}/${name}`);
  }

  /** The conditions Accepted and Ready of an object, each with its reason unless it is True. */
  of(key: string): string {
    const { conditions = [] } = this.statuses.get(key) ?? {};
    return conditions.map(({ type, status, reason }) => (status === 'True' ? type : reason)).join(', ');
  }

  message(key: string): string {
    return this.statuses.get(key)?.conditions[0]?.message ?? '';
  }
}

let clock: VirtualClock;
let source: TestSource;
let objects: Objects;
let events: ObjectEvent[];
let controller: Controller;

beforeEach(() => {
  clock = new VirtualClock();
  source = new TestSource();
  objects = new Objects(source);
});

async function start(): Promise<void> {
  events = [];
  const sink = { record: (event: ObjectEvent): void => void events.push(event) };
  const providers = [new BareMetalProvider()];
  controller = new Controller({ source, providers, writer: objects, events: sink, clock, random: () => 0, log: silentLog });
  await controller.start();
  await controller.settled();
}

async function pass(milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  await controller.settled();
}

async function put(...further: readonly HeraldObject[]): Promise<void> {
  source.put(...further);
  await controller.settled();
}

function report(name: string, state: 'Established' | 'Idle', cause?: Reason): NodeState {
  const peer = { peer: 'tor', address: '10.0.0.254', localASN: 64_512, peerASN: 64_513 };
  const session = { ...peer, state, since: '', prefixesSent: 0, ...defined({ cause }) };
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: clock.date().toISOString(),
    consumed: {},
    sessions: [session],
    differing: [],
  };
}

const objectEvents = (): string[] =>
  events.flatMap(({ regarding, reason, type }) => (regarding.kind === 'Service' ? [] : [`${type} ${reason} ${regarding.name}`]));
const main = pool({ name: 'main', addresses: ['192.0.2.0/24'] });

describe('every configuration object', () => {
  test('a status says whether the object is in force, whether it works, and for which generation', async () => {
    const other = { metadata: { ...metadata('any'), generation: 4 } };
    source.put(
      { ...main, metadata: { ...main.metadata, generation: 3 } },
      peer({ name: 'tor' }),
      advertisement({ name: 'all' }),
      config({}),
      { kind: 'Community', communities: [], ...other },
      { kind: 'ExternalIPPolicy', namespaceSelector: { matchLabels: {}, matchExpressions: [] }, cidrs: [], ...other },
    );
    await start();
    expect(Object.fromEntries([...objects.statuses.keys()].map((key) => [key, objects.of(key)]))).toEqual({
      'IPAddressPool/main': 'Accepted, Ready',
      'BGPPeer/tor': 'Accepted, PeerSelectsNoNode',
      'BGPAdvertisement/all': 'Accepted, AdvertisesNothing',
      'HeraldConfig/default': 'Accepted, Ready',
      'Community/any': 'Accepted, Ready',
      'ExternalIPPolicy/any': 'Accepted, Ready',
    });
    expect(objects.statuses.get('IPAddressPool/main')?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3]);
    expect(objectEvents()).toEqual([]);
  });

  test('an unreadable object says so with field and fix, with or without an earlier version in force', async () => {
    source.put(main);
    await start();
    const about = { apiVersion: '', namespace: '', uid: 'u', resourceVersion: '9', generation: 5 };
    source.breakSomething(
      {
        severity: 'error',
        object: 'IPAddressPool/main',
        about: { ...about, kind: 'IPAddressPool', name: 'main' },
        field: 'spec.addresses',
        message: 'is empty',
        fix: 'list some',
      },
      {
        severity: 'error',
        object: 'BGPPeer/new',
        about: { ...about, kind: 'BGPPeer', name: 'new' },
        field: 'spec.myASN',
        message: 'is required',
        fix: 'write it',
      },
      { severity: 'warning', object: 'Community/odd', field: '', message: 'looks odd', fix: '' },
      { severity: 'error', object: 'Service/shop/web', field: '', message: 'is no matter of configuration', fix: '' },
    );
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/main')).toBe('ObjectUnreadable, Ready');
    expect(objects.message('IPAddressPool/main')).toBe(
      'spec.addresses is empty; its previous version stays in force until the controller or an agent restarts (list some)',
    );
    expect(objects.of('BGPPeer/new')).toBe('ObjectUnreadable, ObjectUnreadable');
    expect(objects.message('BGPPeer/new')).toBe('spec.myASN is required (write it)');
    expect(objects.statuses.get('BGPPeer/new')?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([5, 5]);
    expect([...objects.statuses.keys()].toSorted()).toEqual(['BGPPeer/new', 'IPAddressPool/main']);
    source.breakSomething();
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/main')).toBe('Accepted, Ready');
    expect(objects.statuses.has('BGPPeer/new')).toBe(false);
    expect(objectEvents()).toEqual(['Warning ObjectUnreadable new', 'Warning ObjectUnreadable main', 'Normal Accepted main']);
  });

  test('only the later of two overlapping pools is refused', async () => {
    source.put(main);
    await start();
    await put(pool({ name: 'zebra', addresses: ['192.0.2.128/25', '198.51.100.0/24'] }), service({ name: 'shop/web' }));
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/zebra')).toBe('PoolOverlaps, PoolOverlaps');
    expect(objects.of('IPAddressPool/main')).toBe('Accepted, Ready');
    expect(objects.statuses.get('IPAddressPool/main')?.fields).toMatchObject({ usage: '1/256', conflicts: ['zebra'] });
    expect(objectEvents()).toEqual(['Warning PoolOverlaps zebra']);
  });

  test('a working object that is refused is reported once, also after a failover', async () => {
    const zebra = pool({ name: 'zebra', addresses: ['192.0.2.128/25'] });
    source.put(zebra);
    await start();
    expect(objects.of('IPAddressPool/zebra')).toBe('Accepted, Ready');
    await put(main);
    await pass(limits.objectStatusMilliseconds);
    expect(objectEvents()).toEqual(['Warning PoolOverlaps zebra']);
    await controller.stop();
    await start();
    expect(objects.of('IPAddressPool/zebra')).toBe('PoolOverlaps, PoolOverlaps');
    expect(objectEvents()).toEqual([]);
  });

  test('a deleted object has no status', async () => {
    source.put(main);
    await start();
    source.remove(main);
    await pass(limits.objectStatusMilliseconds);
    expect(objects.statuses.size).toBe(0);
  });

  test('a status is not written when nothing changed, and written again after a failure', async () => {
    source.put(main);
    objects.failing = true;
    await start();
    expect(objects.statuses.size).toBe(0);
    objects.failing = false;
    await pass(limits.retryMaximumMilliseconds);
    expect(objects.of('IPAddressPool/main')).toBe('Accepted, Ready');
    const before = objects.writes.length;
    await put(node({ name: 'n1' }));
    await put({ ...main, metadata: { ...main.metadata, labels: { some: 'label' } } });
    await pass(60_000);
    expect(objects.writes).toHaveLength(before);
  });
});

describe('the figures of a pool', () => {
  test('pool figures follow assignments, and thousands of Services cause a handful of writes', async () => {
    source.put(pool({ name: 'big', addresses: ['10.0.0.0/16'] }));
    await start();
    objects.writes = [];
    for (let second = 0; second < 10; second++) {
      source.put(...Array.from({ length: 200 }, (_, index) => service({ name: `shop/s${second}-${index}` })));
      await controller.settled();
      await pass(1000);
    }
    await pass(limits.objectStatusMilliseconds + limits.usageMilliseconds);
    expect(objects.statuses.get('IPAddressPool/big')?.fields).toMatchObject({ assignedIPv4: 2000, usage: '2000/65536' });
    expect(objects.writes.length).toBeLessThanOrEqual(4);
  });

  test('a pool reports when it is full and when it no longer is', async () => {
    source.put(pool({ name: 'tiny', addresses: ['192.0.2.0/32'] }));
    await start();
    const web = service({ name: 'shop/web' });
    await put(web);
    await pass(limits.objectStatusMilliseconds + limits.usageMilliseconds);
    expect(objects.of('IPAddressPool/tiny')).toBe('Accepted, PoolFull');
    source.remove(web);
    await controller.settled();
    await pass(limits.objectStatusMilliseconds + limits.usageMilliseconds);
    expect(objects.of('IPAddressPool/tiny')).toBe('Accepted, Ready');
    expect(objectEvents()).toEqual(['Warning PoolFull tiny', 'Normal Ready tiny']);
  });
});

describe('a pool that holds the address of a Node', () => {
  const row = node({ name: 'node1', internalIPs: ['10.0.0.11', '2001:db8::11'] });

  test("a pool reports a Node's address while it contains one, whichever object came first", async () => {
    source.put(pool({ name: 'wide', addresses: ['10.0.0.0/24'] }), pool({ name: 'beside', addresses: ['10.0.1.0/24'] }));
    await start();
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, Ready');
    source.put(row);
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, PoolHoldsNodeAddress');
    expect(objects.of('IPAddressPool/beside')).toBe('Accepted, Ready');
    expect(objectEvents()).toEqual(['Warning PoolHoldsNodeAddress wide']);
    // An IPv6 address, in a pool that is created later.
    source.put(pool({ name: 'six', addresses: ['2001:db8::10-2001:db8::1f'] }));
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/six')).toBe('Accepted, PoolHoldsNodeAddress');
    source.put(pool({ name: 'wide', addresses: ['10.0.0.32/27'] }));
    source.remove(row);
    await pass(limits.objectStatusMilliseconds);
    expect(['wide', 'six'].map((name) => objects.of(`IPAddressPool/${name}`))).toEqual(['Accepted, Ready', 'Accepted, Ready']);
  });

  test("a pool with a Node's address still assigns, and is not rewritten for unrelated Node changes", async () => {
    source.put(pool({ name: 'wide', addresses: ['10.0.0.0/24'] }), row, service({ name: 'shop/web' }));
    await start();
    await pass(limits.objectStatusMilliseconds + limits.usageMilliseconds);
    expect(source.snapshot.services.get('shop/web')?.ingress).toHaveLength(1);
    objects.writes = [];
    source.put(
      node({ name: 'node2', internalIPs: ['10.0.2.1'] }),
      node({ name: 'node1', internalIPs: ['10.0.0.11'], labels: { row: '2' } }),
    );
    await pass(limits.objectStatusMilliseconds);
    expect(objects.writes).toEqual([]);
  });
});

describe('a pool that holds addresses of a peer, of ClusterIPs or of pods', () => {
  test('the pool reports each while it lasts, and keeps assigning', async () => {
    const pods = node({ name: 'n1', internalIPs: ['192.0.2.1'], podCIDRs: ['10.244.1.0/24'] });
    const router = peer({ name: 'tor', peerAddress: '10.0.0.1' });
    source.put(pool({ name: 'wide', addresses: ['10.0.0.0/8'] }), service({ name: 'shop/web' }));
    await start();
    await pass(limits.objectStatusMilliseconds + limits.usageMilliseconds);
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, Ready');
    source.put(pods);
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, PoolHoldsPodCIDR');
    source.put(service({ name: 'default/kubernetes', type: 'ClusterIP', clusterIPs: ['10.96.0.1'] }));
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, PoolHoldsServiceCIDR');
    source.put(router);
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, PoolHoldsPeerAddress');
    expect(objectEvents().filter((text) => text.includes('wide'))).toEqual([
      'Warning PoolHoldsPodCIDR wide',
      'Warning PoolHoldsServiceCIDR wide',
      'Warning PoolHoldsPeerAddress wide',
    ]);
    source.put(pool({ name: 'wide', addresses: ['203.0.113.0/24'] }));
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('IPAddressPool/wide')).toBe('Accepted, Ready');
  });
});

describe('the sessions of a peer', () => {
  test('sessions are counted over all nodes, without those of an agent that fell silent', async () => {
    source.put(
      peer({ name: 'tor' }),
      node({ name: 'n1' }),
      node({ name: 'n2', internalIPs: ['10.0.0.2'] }),
      report('n1', 'Established'),
      report('n2', 'Idle'),
    );
    await start();
    const sessions = () => objects.statuses.get('BGPPeer/tor')?.fields['sessions'];
    expect([sessions(), objects.of('BGPPeer/tor')]).toEqual(['1/2', 'Accepted, SessionsMissing']);
    await pass(limits.objectStatusMilliseconds);
    await put(report('n2', 'Established'));
    expect([sessions(), objects.of('BGPPeer/tor')]).toEqual(['2/2', 'Accepted, Ready']);
    await pass(91_000 + limits.reportWatchMilliseconds);
    expect(sessions()).toBe('0/2');
    source.remove(node({ name: 'n2' }));
    await pass(limits.objectStatusMilliseconds);
    expect(sessions()).toBe('0/1');
    expect(objectEvents()).toEqual(['Normal Ready tor', 'Warning SessionsMissing tor']);
  });

  test('another reason for a peer that stays without sessions causes another Event, the same one none', async () => {
    const outage = { peer: 'tor', router: '10.0.0.254', local: '', since: '', latest: '', port: 179 };
    const silent = reason('PeerUnreachable', { ...outage, why: 'connection attempts time out', wasUp: true, hints: '' });
    const refusing = reason('PeerRefusesConnection', { ...outage, localASN: 64_512, atOnce: false });
    source.put(peer({ name: 'tor' }), node({ name: 'n1' }), report('n1', 'Established'));
    await start();
    for (const cause of [silent, silent, refusing]) {
      await put(report('n1', 'Idle', cause));
      await pass(limits.objectStatusMilliseconds);
    }
    expect(objectEvents()).toEqual(['Warning PeerUnreachable tor', 'Warning PeerRefusesConnection tor']);
  });

  test('flapping sessions are written every few seconds at most', async () => {
    source.put(peer({ name: 'tor' }), node({ name: 'n1' }), report('n1', 'Established'));
    await start();
    objects.writes = [];
    for (let second = 0; second < 60; second++) {
      await put(report('n1', second % 2 === 0 ? 'Idle' : 'Established'));
      await pass(1000);
    }
    expect(objects.writes.length).toBeLessThanOrEqual(60_000 / limits.objectStatusMilliseconds);
  });

  test('a peer with the same router as an earlier peer is refused', async () => {
    source.put(peer({ name: 'tor' }), node({ name: 'n1' }), node({ name: 'n2', internalIPs: ['10.0.0.2'] }));
    await start();
    await put(peer({ name: 'zebra' }));
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('BGPPeer/zebra')).toBe('DuplicatePeer, DuplicatePeer');
    expect(objects.of('BGPPeer/tor')).toBe('Accepted, SessionsMissing');
    source.remove(peer({ name: 'tor' }));
    await pass(limits.objectStatusMilliseconds);
    expect(objects.of('BGPPeer/zebra')).toBe('Accepted, SessionsMissing');
  });
});

test('the status of an advertisement follows the objects that it names', async () => {
  source.put(advertisement({ name: 'all', peers: ['tor'], ipAddressPools: ['main'] }), node({ name: 'n1' }), main);
  await start();
  expect(objects.of('BGPAdvertisement/all')).toBe('UnknownPeer, AdvertisesNothing');
  await put(peer({ name: 'tor' }));
  await pass(limits.objectStatusMilliseconds);
  expect(objects.of('BGPAdvertisement/all')).toBe('Accepted, Ready');
  source.remove(main);
  await pass(limits.objectStatusMilliseconds);
  expect(objects.of('BGPAdvertisement/all')).toBe('UnknownPool, AdvertisesNothing');
});

test.each([
  ['goes when the controller starts', [], false],
  ['stays while something cannot be read', [{ severity: 'error', message: 'cannot be read', fix: '' }], true],
] as const)('the record of a pool that was deleted while no controller ran %s', async (_, problems, stays) => {
  objects.statuses.set('IPAddressPool/old', { conditions: [], fields: {} });
  source.put(main);
  source.breakSomething(...problems);
  await start();
  await pass(limits.objectStatusMilliseconds);
  expect(objects.statuses.has('IPAddressPool/old')).toBe(stays);
});

test('no timer remains after stop', async () => {
  source.put(main, peer({ name: 'tor' }), node({ name: 'n1' }));
  await start();
  await put(service({ name: 'shop/web' }), report('n1', 'Established'));
  await controller.stop();
  expect(clock.pending).toBe(0);
});

test('a translated object is reported under its own name, and nothing is written to it', async () => {
  const origin = { apiVersion: 'example.net/v1', kind: 'IPAddressPool', namespace: 'theirs', name: 'b' };
  const first = pool({ name: 'a', addresses: ['192.0.2.0/28'] });
  const theirs = pool({ name: 'b', addresses: ['192.0.2.8/29'] });
  source.put(first, { ...theirs, metadata: { ...theirs.metadata, uid: 'u7', origin } });
  await start();
  await pass(limits.objectStatusMilliseconds);
  expect(objects.writes).toEqual(['IPAddressPool/a']);
  const told = events.filter(({ regarding }) => regarding.apiVersion === 'example.net/v1');
  expect(told).toMatchObject([{ reason: 'PoolOverlaps', type: 'Warning', regarding: { ...origin, uid: 'u7' } }]);
  source.remove(first);
  await controller.settled();
  await pass(limits.objectStatusMilliseconds * 2);
  expect(events.filter(({ regarding }) => regarding.apiVersion === 'example.net/v1').map(({ reason }) => reason)).toContain('Accepted');
});
