import { describe, expect, test } from 'vitest';
import { PendingWork } from '../../../../src/agent/reconcile/pending-work.ts';
import type { Change, HeraldObject, KindName } from '../../../../src/model/store/snapshot.ts';
import { advertisement, cluster, metadata, peer, pool, service } from '../../decisions/fixtures.ts';

const snapshot = cluster({
  services: [{ name: 'a' }, { name: 'b' }, { name: 'other/c' }],
  nodes: [{ name: 'n1' }, { name: 'n2' }],
  namespaces: { default: {}, other: {} },
});
const all = ['default/a', 'default/b', 'other/c'];

function workAfter(...changes: readonly Change[]): { services: string[]; node: boolean } {
  const work = new PendingWork('n1');
  work.addChanges(changes, snapshot);
  const { services, node } = work.take();
  return { services: services.toSorted(), node };
}

describe('the work that a change causes', () => {
  test.each<[string, Change, string[], boolean]>([
    ['a Service: itself', { kind: 'Service', key: 'default/a' }, ['default/a'], false],
    ['a Service that is gone: itself', { kind: 'Service', key: 'default/gone' }, ['default/gone'], false],
    [
      'a slice: its Services',
      { kind: 'EndpointSlice', key: 'default/a-1', services: ['default/a', 'default/b'] },
      ['default/a', 'default/b'],
      false,
    ],
    ['a Namespace: its Services', { kind: 'Namespace', key: 'other' }, ['other/c'], false],
    ['another node: only the settings of the node', { kind: 'Node', key: 'n2' }, [], true],
    ['our node: everything', { kind: 'Node', key: 'n1' }, all, true],
    ['a NodeState: nothing', { kind: 'NodeState', key: 'n2' }, [], false],
    ...(['IPAddressPool', 'BGPPeer', 'BGPAdvertisement', 'Community', 'ExternalIPPolicy', 'HeraldConfig', 'Secret'] as const).map(
      (kind): [string, Change, string[], boolean] => [`${kind}: everything`, { kind, key: 'x' }, all, true],
    ),
  ])('%s', (_, change, services, node) => {
    expect(workAfter(change)).toEqual({ services, node });
  });

  test('another node: the Services with consistent hashing and endpoints there', () => {
    const snapshot = cluster({
      services: [{ name: 'a', loadBalancing: 'consistent' }, { name: 'b', loadBalancing: 'consistent' }, { name: 'c' }],
      slices: [
        { service: 'a', endpoints: ['10.1.0.1@n2'] },
        { service: 'b', endpoints: ['10.1.0.2@n3'] },
        { service: 'c', endpoints: ['10.1.0.3@n2'] },
      ],
    });
    const work = new PendingWork('n1');
    work.addChanges([{ kind: 'Node', key: 'n2' }], snapshot);
    expect(work.take()).toMatchObject({ services: ['default/a'], node: true });
  });

  test('another node: the Services with its address as external IP', () => {
    const snapshot = cluster({
      services: [{ name: 'a', externalIPs: ['10.0.0.2'] }, { name: 'b', externalIPs: ['10.0.0.3'] }, { name: 'c' }],
      nodes: [{ name: 'n2', internalIPs: ['10.0.0.2'] }],
    });
    const work = new PendingWork('n1');
    work.addChanges([{ kind: 'Node', key: 'n2' }], snapshot);
    expect(work.take()).toMatchObject({ services: ['default/a'], node: true });
  });

  test('a Service that changes often is planned once', () => {
    const change = { kind: 'Service', key: 'default/a' } as const;
    expect(workAfter(change, change, change).services).toEqual(['default/a']);
  });
});

describe('failed work', () => {
  test('failed work is pending again, together with later work', () => {
    const work = new PendingWork('n1');
    work.addChanges(
      [
        { kind: 'Service', key: 'default/a' },
        { kind: 'Node', key: 'n2' },
      ],
      snapshot,
    );
    const first = work.take();
    expect(work.isEmpty).toBe(true);
    work.addChanges([{ kind: 'Service', key: 'default/b' }], snapshot);
    work.requeueFailed(first);
    expect(work.take()).toMatchObject({ services: ['default/a', 'default/b'], node: true });
    expect(work.isEmpty).toBe(true);
  });

  test('failed work is not taken again with the new work only', () => {
    const work = new PendingWork('n1');
    work.addChanges([{ kind: 'Service', key: 'default/a' }], snapshot);
    work.requeueFailed(work.take());
    work.addChanges([{ kind: 'Service', key: 'default/b' }], snapshot);
    const fresh = work.takeNew();
    expect(fresh.services).toEqual(['default/b']);
    work.requeueFailed(fresh);
    expect(work.takeNew().services).toEqual([]);
    expect(work.isEmpty).toBe(false);
    expect(work.take().services).toEqual(['default/a', 'default/b']);
  });

  test.each<[string, (work: PendingWork) => void]>([
    ['a change', (work) => work.addChanges([{ kind: 'BGPPeer', key: 'tor1' }], snapshot)],
    ['everything', (work) => work.addAll(snapshot)],
  ])('node settings that %s adds are new work once, then part of the failed work', (_, ask) => {
    const work = new PendingWork('n1');
    work.addChanges([{ kind: 'Service', key: 'default/a' }], snapshot);
    work.requeueFailed(work.take());
    ask(work);
    const fresh = work.takeNew();
    expect(fresh.node).toBe(true);
    work.requeueFailed(fresh);
    expect(work.takeNew().node).toBe(false);
    expect(work.isEmpty).toBe(false);
    expect(work.take().node).toBe(true);
    expect(work.isEmpty).toBe(true);
  });

  test('a failed first pass does not count as synced', () => {
    const work = new PendingWork('n1');
    work.addAll(snapshot);
    work.requeueFailed(work.take());
    expect(work.hasSynced).toBe(false);
    work.markDone(work.take());
    expect(work.hasSynced).toBe(true);
  });
});

describe('consumed resourceVersions', () => {
  const at = <T extends HeraldObject>(object: T, resourceVersion: string): T => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion },
  });

  test('versions count once the work is done, and never go back', () => {
    const work = new PendingWork('n1');
    const services = new Map([
      ['default/a', at(service({ name: 'a' }), '12')],
      ['default/b', at(service({ name: 'b' }), '9')],
    ] as const);
    const changes: Change[] = [...services.keys()].map((key) => ({ kind: 'Service' as KindName, key }));
    work.addChanges(changes, { ...snapshot, services });
    const first = work.take();
    expect(work.consumed).toEqual({});
    work.requeueFailed(first);
    work.markDone(work.take());
    expect(work.consumed).toEqual({ Service: '12' });
    work.addChanges(changes.slice(1), { ...snapshot, services });
    work.markDone(work.take());
    expect(work.consumed).toEqual({ Service: '12' });
  });

  test('only versions that readers compare count: those of Services and of the own Node', () => {
    const work = new PendingWork('n1');
    const named = <T extends HeraldObject>(object: T): Map<string, T> => new Map([[object.metadata.name, object]]);
    work.addAll({
      ...snapshot,
      peers: named(at(peer({ name: 'tor1' }), '18446744073709551617')),
      pools: named(at(pool({ name: 'main', addresses: [] }), '')),
      advertisements: named({ ...advertisement({ name: 'all' }), metadata: { ...metadata('all'), resourceVersion: '4' } }),
    });
    work.markDone(work.take());
    expect(work.consumed).toEqual({ Service: '1', Node: '1' });
  });
});
