import { beforeEach, expect, test } from 'vitest';
import { RemovedNodes } from '../../../../src/controller/configuration/removed-nodes.ts';
import { limits } from '../../../../src/controller/limits.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import type { SourceProblem } from '../../../../src/sources/source.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { metadata, node } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

let clock: VirtualClock;
let source: TestSource;
let problems: SourceProblem[];
let removed: string[];
let refused: boolean;
let part: RemovedNodes;

beforeEach(() => {
  clock = new VirtualClock();
  source = new TestSource(node({ name: 'n1' }), stateOf('n1'), stateOf('gone'));
  [problems, removed, refused] = [[], [], false];
  part = new RemovedNodes({
    source: { snapshot: source.snapshot, problems: () => problems },
    writer: {
      removeNodeState: async (name) => {
        if (refused) throw new Error('forbidden');
        removed.push(name);
      },
    },
    clock,
    log: silentLog,
  });
});

function stateOf(name: string): NodeState {
  return { kind: 'NodeState', metadata: metadata(name), updated: clock.date().toISOString(), consumed: {}, sessions: [], differing: [] };
}

async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left >= 0; left -= limits.reportWatchMilliseconds) {
    part.check();
    for (let turn = 0; turn < 30; turn++) await Promise.resolve();
    clock.advance(limits.reportWatchMilliseconds);
  }
}

const wait = limits.removedNodeMilliseconds;

test('the NodeState of a removed Node is deleted after ten minutes, and no other', async () => {
  await pass(wait - limits.reportWatchMilliseconds);
  expect(removed).toEqual([]);
  await pass(limits.reportWatchMilliseconds);
  expect(removed).toEqual(['gone']);
});

test('a NodeState stays while its Node is back, or its agent reports', async () => {
  await pass(wait / 2);
  source.put(node({ name: 'gone' }));
  await pass(0);
  source.remove(node({ name: 'gone' }));
  await pass(wait / 2);
  expect(removed).toEqual([]);
  source.put(stateOf('gone'));
  clock.advance(wait);
  source.put(stateOf('gone'));
  await pass(0);
  expect(removed).toEqual([]);
});

test('nothing is deleted while Nodes cannot be read, one of them cannot be used, or there is none', async () => {
  const problem = { severity: 'error', message: 'cannot be read', fix: '' } as const;
  for (const one of [problem, { ...problem, object: 'Node' }, { ...problem, object: 'Node/gone' }]) {
    problems = [one];
    await pass(2 * wait);
  }
  problems = [];
  source.remove(node({ name: 'n1' }));
  await pass(2 * wait);
  expect(removed).toEqual([]);
  source.put(node({ name: 'n1' }));
  await pass(wait / 2);
  expect(removed).toEqual([]);
});

test('a bounded number of NodeStates is deleted at once, and a refusal is tried again ten minutes later', async () => {
  for (let index = 0; index < 2 * limits.nodeStateRemovals; index++) source.put(stateOf(`old${index}`));
  refused = true;
  await pass(wait);
  refused = false;
  await pass(0);
  expect(removed.length).toBe(limits.nodeStateRemovals);
  await pass(wait);
  expect(new Set(removed).size).toBe(2 * limits.nodeStateRemovals + 1);
});
