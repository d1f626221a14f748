import { beforeEach, expect, test } from 'vitest';
import type { Write } from '../../../../src/kube/client/client.ts';
import { answerError } from '../../../../src/kube/error.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { KubernetesStatusWriter } from '../../../../src/sources/kubernetes/records/status-writer.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { metadata } from '../../decisions/fixtures.ts';

let there: { ownerReferences?: unknown } | undefined;
let allowsOwner: boolean;
let writes: string[];
let logged: string[];
let store: Store;
let writer: KubernetesStatusWriter;
let state: NodeState;

const client = {
  get: async () => undefined,
  page: async () => ({ items: [], resourceVersion: '1' }),
  async write({ method, path, body }: Write): Promise<unknown> {
    const { ownerReferences } = (body as { metadata: { ownerReferences?: unknown } }).metadata;
    const isStatus = path.endsWith('/status');
    writes.push(isStatus ? 'status' : `object${ownerReferences === undefined ? '' : ' with owner'}`);
    expect([method, path.replace('/status', '')]).toEqual(['PATCH', '/apis/herald.dev/v1alpha1/nodestates/n1']);
    if (isStatus && there === undefined) throw answerError(404, 'nodestates "n1" not found');
    if (ownerReferences !== undefined && !allowsOwner) throw answerError(403, 'cannot set ownerRef on something you cannot delete');
    if (!isStatus) there = ownerReferences === undefined ? { ...there } : { ownerReferences };
    return { metadata: { name: 'n1', resourceVersion: '2', ...there } };
  },
};

beforeEach(() => {
  [there, allowsOwner, writes, logged] = [undefined, true, [], []];
  store = new Store();
  see('u1');
  state = { kind: 'NodeState', metadata: metadata('n1'), updated: '2026-01-01T00:00:00Z', consumed: {}, sessions: [], differing: [] };
  begin();
});

function begin(): void {
  const log = { ...silentLog, info: (_: object, message: string) => void logged.push(message) };
  writer = new KubernetesStatusWriter({ client, snapshot: store, clock: new VirtualClock(), log });
}

function see(uid: string): void {
  const { object } = parseObject({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid } });
  if (object !== undefined) store.upsert(object);
}

const owner = (uid: string): object => ({ ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid }] });

test('a new NodeState has its Node as owner', async () => {
  await writer.writeNodeState(state);
  await writer.writeNodeState(state);
  expect(there).toEqual(owner('u1'));
  expect(writes).toEqual(['status', 'object with owner', 'status', 'status']);
});

test('a NodeState without an owner, or with an earlier Node as owner, gets its Node once', async () => {
  for (const before of [{}, owner('u0')]) {
    [there, writes] = [before, []];
    begin();
    await writer.writeNodeState(state);
    await writer.writeNodeState(state);
    expect(there).toEqual(owner('u1'));
    expect(writes).toEqual(['status', 'object with owner', 'status']);
  }
});

test('a NodeState gets another owner when its Node was made anew', async () => {
  await writer.writeNodeState(state);
  see('u2');
  await writer.writeNodeState(state);
  expect(there).toEqual(owner('u2'));
});

test('a NodeState is written without an owner where the API server allows none, and that is logged once', async () => {
  allowsOwner = false;
  await writer.writeNodeState(state);
  await writer.writeNodeState(state);
  expect(there).toEqual({});
  expect(writes).toEqual(['status', 'object with owner', 'object', 'status', 'status']);
  expect(logged).toEqual(['the Node cannot own its NodeState; the controller deletes it after the Node is gone']);
});

test('a NodeState without a Node has no owner', async () => {
  store.remove('Node', 'n1');
  await writer.writeNodeState(state);
  expect(there).toEqual({});
  expect(writes).toEqual(['status', 'object', 'status']);
});
