import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentPod } from '../../../../src/model/objects/agent-pod.ts';
import { currentReport, type NodeState } from '../../../../src/model/objects/node-state.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { metadata, node } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 2);
const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString();
const own = { namespace: 'herald-system', name: 'herald-agent-abcde', uid: 'u1' };
const key = 'herald-system/herald-agent-abcde';
const pod: AgentPod = { ...own, node: 'n1', runsSince: at(-4000) };

/** A report of an hour ago. */
function report(more: Partial<NodeState> = {}): NodeState {
  return { kind: 'NodeState', metadata: metadata('n1'), updated: at(-3600), consumed: {}, sessions: [], differing: [], pod: own, ...more };
}

function storeWith(...objects: Parameters<Store['upsert']>[0][]): Store {
  const store = new Store();
  for (const object of objects) store.upsert(object);
  return store;
}

const lives = (store: Store): boolean => currentReport(store.nodeStates, 'n1', now) !== undefined;

describe('a report that names the Pod of its agent', () => {
  test('counts however old it is while the container runs', () => {
    const store = storeWith(node({ name: 'n1' }), report());
    store.setAgentPod(key, pod);
    store.agentPodsRead('herald-system');
    expect(lives(store)).toBe(true);
  });

  test.each<[string, AgentPod | undefined]>([
    ['the container ends', { ...own, node: 'n1' }],
    ['the Pod is deleted', undefined],
    ['another Pod has its name', { ...pod, uid: 'u2' }],
    ['the container was started again and has not reported', { ...pod, runsSince: at(-3599) }],
  ])('counts no longer when %s, and the store reports a change of the NodeState', (_, after) => {
    const store = storeWith(node({ name: 'n1' }), report({ updated: at(0) }));
    store.setAgentPod(key, pod);
    store.agentPodsRead('herald-system');
    store.upsert(report());
    expect(lives(store)).toBe(true);
    expect(store.setAgentPod(key, after)).toEqual([{ kind: 'NodeState', key: 'n1' }]);
    expect(lives(store)).toBe(false);
    expect(store.setAgentPod(key, pod)).toEqual([{ kind: 'NodeState', key: 'n1' }]);
    expect(lives(store)).toBe(true);
  });

  test('counts by its age while the control plane does not hear of the kubelet', () => {
    const store = storeWith(node({ name: 'n1' }), report());
    store.setAgentPod(key, pod);
    store.agentPodsRead('herald-system');
    store.upsert({ ...node({ name: 'n1' }), kubeletSilent: true });
    expect(lives(store)).toBe(false);
    store.upsert(report({ updated: at(-20) }));
    expect(lives(store)).toBe(true);
  });

  test('counts while the kubelet reports, if the Pods of its namespace were not read', () => {
    const store = storeWith(node({ name: 'n1' }), report());
    store.agentPodsRead('elsewhere');
    expect(lives(store)).toBe(true);
    store.upsert({ ...node({ name: 'n1' }), kubeletSilent: true });
    expect(lives(store)).toBe(false);
  });
});

test('a report without a Pod, as agents of older versions write it, counts for 90 s', () => {
  const { pod: _pod, ...older } = report({ updated: at(-91) });
  const store = storeWith(node({ name: 'n1' }), older);
  store.setAgentPod(key, pod);
  store.agentPodsRead('herald-system');
  expect(lives(store)).toBe(false);
  store.upsert({ ...older, updated: at(-90) });
  expect(lives(store)).toBe(true);
});

test('the order in which Pods, Nodes and reports arrive does not matter', () => {
  const states = [report(), report({ updated: at(-10) }), report({ pod: { ...own, uid: 'u2' } })];
  fc.assert(
    fc.property(
      fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
      fc.constantFrom(...states),
      fc.constantFrom(pod, { ...own, node: 'n1' }),
      fc.boolean(),
      (order, state, agentPod, silent) => {
        const judged = (steps: readonly number[]): boolean => {
          const store = new Store();
          const act = [
            () => store.upsert(state),
            () => store.upsert({ ...node({ name: 'n1' }), ...(silent ? { kubeletSilent: true } : {}) }),
            () => store.setAgentPod(key, agentPod),
            () => store.agentPodsRead('herald-system'),
          ];
          for (const step of steps) act[step]?.();
          return lives(store);
        };
        expect(judged(order)).toBe(judged([0, 1, 2, 3]));
      },
    ),
  );
});
