import { describe, expect, test, vi } from 'vitest';
import { Segments } from '../../../../src/agent/l2/segments.ts';
import type { AddressEntry } from '../../../../src/l2/index.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { address } from '../../../../src/net/address.ts';
import { cluster } from '../../decisions/fixtures.ts';

const entry = (text: string, ...candidates: readonly string[]): AddressEntry => ({ address: text, interface: 'eth0', candidates });

/** Nodes n1 (this one), n2 and n3 on one link. */
function lan() {
  const names = ['n1', 'n2', 'n3'];
  const snapshot = cluster({ nodes: [], links: Object.fromEntries(names.map((name) => [name, { eth0: ['192.0.2.0/24'] }])) });
  const store = new Store();
  for (const [at, state] of [...snapshot.nodeStates.values()].entries()) {
    const links = state.links?.map((link) => ({ ...link, addresses: [address(`192.0.2.${at + 1}`)] })) ?? [];
    store.upsert({ ...state, links });
  }
  const links = report(store, 'n1').links;
  const looks = vi.spyOn(store.nodeStates, 'values');
  return { store, looks, segments: new Segments({ node: 'n1', links: () => links, snapshot: () => store }) };
}

function report(store: Store, node: string): NodeState {
  const state = store.nodeStates.get(node);
  if (state === undefined) throw new Error(`${node} has no report`);
  return state;
}

/** The names of the sessions. */
const sessions = (segments: Segments): string[] | undefined => segments.take()?.flatMap((one) => one.sessions.map(({ name }) => name));

describe('the segments of a node', () => {
  test('name every other node on the link, with a session for each candidate', () => {
    const { segments } = lan();
    segments.replace([], [entry('192.0.2.100', 'n1', 'n2')]);
    const [segment] = segments.take() ?? [];
    expect(segment?.link.peers.map(({ node, session }) => [node, session])).toEqual([
      ['n2', 'l2/eth0/n2'],
      ['n3', undefined],
    ]);
    expect(segment?.sessions.map(({ name }) => name)).toEqual(['l2/eth0/n2']);
  });

  test('have a link whose only address has no candidate yet', () => {
    const { segments } = lan();
    segments.replace([], [entry('192.0.2.100')]);
    expect(segments.take()).toHaveLength(1);
  });

  test('are not made again for an address with the same candidates, nor for a report that says nothing new', () => {
    const { segments, store, looks } = lan();
    segments.replace([], [entry('192.0.2.100', 'n1', 'n2')]);
    segments.take();
    looks.mockClear();
    segments.replace([], [entry('192.0.2.101', 'n2', 'n1')]);
    store.upsert({ ...report(store, 'n2'), updated: '2026-01-02T00:00:00Z' });
    expect(segments.take()).toBeUndefined();
    expect(looks).not.toHaveBeenCalled();
  });

  test('follow the candidates of all addresses together', () => {
    const { segments } = lan();
    const [first, second] = [entry('192.0.2.100', 'n1', 'n2'), entry('192.0.2.101', 'n1', 'n3')];
    segments.replace([], [first]);
    expect(sessions(segments)).toEqual(['l2/eth0/n2']);
    segments.replace([], [second]);
    expect(sessions(segments)).toEqual(['l2/eth0/n2', 'l2/eth0/n3']);
    segments.replace([first], []);
    expect(sessions(segments)).toEqual(['l2/eth0/n3']);
    segments.replace([second], []);
    expect(segments.take()).toEqual([]);
  });

  test('follow the link-layer address that a node reports', () => {
    const { segments, store } = lan();
    segments.replace([], [entry('192.0.2.100', 'n1', 'n2')]);
    segments.take();
    const state = report(store, 'n2');
    store.upsert({ ...state, links: state.links?.map((link) => ({ ...link, linkAddress: '02:00:00:00:00:99' })) ?? [] });
    expect(segments.take()?.[0]?.link.peers[0]?.mac).toBe('02:00:00:00:00:99');
  });
});
