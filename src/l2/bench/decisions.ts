import process from 'node:process';
import { planService } from '../../../src/agent/reconcile/service-plan.ts';
import { l2DecisionsOf } from '../../../src/decisions/l2/decisions-of.ts';
import { Store } from '../../../src/model/store/store.ts';
import { cluster } from '../../../test/unit/decisions/fixtures.ts';

export interface DecisionCost {
  readonly nodes: number;
  readonly addresses: number;
  /** Milliseconds of processor time to plan the Services of all addresses, the first time. */
  readonly all: number;
  /** Microseconds to plan one of them again when no node has changed. */
  readonly one: number;
  /** Microseconds to take a report of a node that says nothing new, and then plan one of them again. */
  readonly afterReport: number;
}

/** Measures what the decisions of one node cost in a cluster of so many nodes on one segment, each with a network for its pods. */
export function measureDecisions(nodes: number, addresses: number): DecisionCost {
  const store = storeOf(nodes, addresses);
  const keys = [...store.services.keys()];
  const decide = (key: (typeof keys)[number] | undefined): void => {
    if (key === undefined) return;
    const { plan } = planService(store, key, 'n0', {}, l2DecisionsOf(store));
    if (plan.l2.length !== 1) throw new Error(`${key} has no candidates`);
  };
  const all = perRound(1, () => {
    for (const key of keys) decide(key);
  });
  const rounds = 2_000;
  const one = perRound(rounds, (round) => decide(keys[round % keys.length]));
  const state = store.nodeStates.get('n1');
  if (state === undefined) throw new Error('n1 has no report');
  const afterReport = perRound(rounds, (round) => {
    const links = state.links?.map((link) => ({ ...link })) ?? [];
    store.upsert({ ...state, links, metadata: { ...state.metadata, resourceVersion: String(round + 2) } });
    decide(keys[round % keys.length]);
  });
  return { nodes, addresses, all: all / 1000, one, afterReport };
}

/** Returns the processor time of a round in microseconds. */
function perRound(rounds: number, act: (round: number) => void): number {
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++) act(round);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rounds;
}

function storeOf(nodes: number, addresses: number): Store {
  const names = Array.from({ length: nodes }, (_, at) => `n${at}`);
  const services = Array.from({ length: addresses }, (_, at) => ({ name: `s${at}`, assigned: [`10.200.${at >> 8}.${at & 255}`] }));
  const snapshot = cluster({
    services,
    slices: services.map(({ name }) => ({ service: name, endpoints: ['10.244.0.10@n0'] })),
    pools: [{ name: 'segment', addresses: ['10.200.0.0-10.200.255.255'] }],
    l2Advertisements: [{ name: 'segment' }],
    nodes: names.map((name) => ({ name })),
    links: Object.fromEntries(names.map((name, at) => [name, { eth0: ['10.200.0.0/16'], cni0: [`10.${at >> 8}.${at & 255}.0/24`] }])),
  });
  const store = new Store();
  for (const map of [snapshot.pools, snapshot.l2Advertisements, snapshot.nodes, snapshot.nodeStates, snapshot.services])
    for (const object of map.values()) store.upsert(object);
  for (const key of snapshot.services.keys()) for (const slice of snapshot.endpointSlices(key)) store.upsert(slice);
  return store;
}
