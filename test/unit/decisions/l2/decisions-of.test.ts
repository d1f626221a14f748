import { describe, expect, test } from 'vitest';
import { l2DecisionsOf } from '../../../../src/decisions/l2/decisions-of.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { cluster } from '../fixtures.ts';

const lan = () =>
  cluster({
    nodes: [{ name: 'n1' }, { name: 'n2' }],
    links: { n1: { eth0: ['192.0.2.0/24'] }, n2: { eth0: ['192.0.2.0/24'] } },
    l2Advertisements: [{ name: 'office' }],
  });

function stored(): Store {
  const snapshot = lan();
  const store = new Store();
  for (const map of [snapshot.l2Advertisements, snapshot.nodes, snapshot.nodeStates])
    for (const object of map.values()) store.upsert(object);
  return store;
}

function report(store: Store) {
  const state = store.nodeStates.get('n2');
  if (state === undefined) throw new Error('n2 has no report');
  return state;
}

describe('the cached decisions', () => {
  test('stay while nothing changes, and while nodes only report that they live', () => {
    const store = stored();
    const decisions = l2DecisionsOf(store);
    expect(l2DecisionsOf(store)).toBe(decisions);
    const state = report(store);
    const links = state.links?.map((link) => ({ ...link })) ?? [];
    store.upsert({ ...state, links, updated: '2026-01-02T00:00:00Z', metadata: { ...state.metadata, resourceVersion: '9' } });
    expect(l2DecisionsOf(store)).toBe(decisions);
  });

  test.each<[string, (store: Store) => void]>([
    ['a node reports other links', (store) => void store.upsert({ ...report(store), links: [] })],
    ['a node reports a problem', (store) => void store.upsert({ ...report(store), problem: reason('AgentStopped', { node: 'n2' }) })],
    ['a node has claimed an address', (store) => void store.upsert({ ...report(store), claims: [{ address: '192.0.2.9', number: 1 }] })],
    ['a report is gone', (store) => void store.remove('NodeState', 'n2')],
    ['a node is gone', (store) => void store.remove('Node', 'n2')],
    ['an advertisement is gone', (store) => void store.remove('L2Advertisement', 'office')],
  ])('are made anew when %s', (_, change) => {
    const store = stored();
    const decisions = l2DecisionsOf(store);
    change(store);
    expect(l2DecisionsOf(store)).not.toBe(decisions);
  });

  test('stay for a node that knows itself better, beside those for everybody', () => {
    const store = stored();
    const own = { node: 'n1', links: [], heldBack: [], claims: [] };
    const [all, ours] = [l2DecisionsOf(store), l2DecisionsOf(store, own)];
    expect(ours).not.toBe(all);
    expect([l2DecisionsOf(store), l2DecisionsOf(store, own)]).toEqual([all, ours]);
    expect(l2DecisionsOf(store, { ...own })).not.toBe(ours);
  });

  test('are made anew when a map that does not count its changes has another value', () => {
    const snapshot = lan();
    const decisions = l2DecisionsOf(snapshot);
    expect(l2DecisionsOf(snapshot)).toBe(decisions);
    (snapshot.nodeStates as Map<string, unknown>).delete('n2');
    expect(l2DecisionsOf(snapshot)).not.toBe(decisions);
  });
});
