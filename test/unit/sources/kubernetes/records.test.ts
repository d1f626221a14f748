import { beforeEach, expect, test } from 'vitest';
import type { KubeClient, Write } from '../../../../src/kube/client.ts';
import { answerError } from '../../../../src/kube/error.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { Store } from '../../../../src/model/store.ts';
import { address } from '../../../../src/net/address.ts';
import { limits } from '../../../../src/sources/kubernetes/limits.ts';
import { KubernetesRecords } from '../../../../src/sources/kubernetes/records.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** What an API server does with the status of one Service. */
class OneService {
  object: Record<string, unknown> | undefined;
  reads = 0;
  readonly writes: Write[] = [];
  /** Runs after the next read: somebody comes between. */
  between: (() => void) | undefined;

  async get(): Promise<unknown> {
    this.reads++;
    if (this.object === undefined) throw answerError(404, '');
    const read = structuredClone(this.object);
    this.between?.();
    this.between = undefined;
    return read;
  }

  async write(write: Write): Promise<unknown> {
    const { metadata, status } = write.body as { metadata: Record<string, string>; status: object };
    const { uid, resourceVersion } = this.#metadata;
    if (metadata['uid'] !== uid || metadata['resourceVersion'] !== resourceVersion) throw answerError(409, '');
    this.writes.push(write);
    this.put({ status: structuredClone(status) });
    return this.object;
  }

  get #metadata(): Readonly<Record<string, string>> {
    return (this.object?.['metadata'] ?? {}) as Record<string, string>;
  }

  put(further: object, uid = 'u1'): void {
    const version = String(Number(this.#metadata['resourceVersion'] ?? '0') + 1);
    const metadata = { name: 'web', namespace: 'shop', uid, resourceVersion: version };
    this.object = {
      apiVersion: 'v1',
      kind: 'Service',
      spec: { clusterIP: '10.96.0.9', ports: [{ port: 80 }] },
      ...this.object,
      ...further,
      metadata,
    };
  }
}

const assigned = { type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: '' } as const;
const status = { uid: 'u1', ingress: [{ address: address('192.0.2.7'), ipMode: 'VIP' as const }], conditions: [assigned] };

let server: OneService;
let store: Store;
let records: KubernetesRecords;

beforeEach(() => {
  server = new OneService();
  server.put({});
  store = new Store();
  see();
  const client = server as unknown as KubeClient;
  records = new KubernetesRecords({ client, snapshot: store, clock: new VirtualClock(), log: silentLog });
});

/** The watch catches up. */
function see(): void {
  const { object } = parseObject(server.object);
  if (object !== undefined) store.upsert(object);
}

test('what was written is not even asked for again, once it was seen', async () => {
  await records.writeService('shop/web', status);
  expect(server.writes).toHaveLength(1);
  see();
  await records.writeService('shop/web', status);
  expect(server.reads).toBe(1);
});

test('what somebody wrote over is written again', async () => {
  await records.writeService('shop/web', status);
  server.put({ status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } } });
  see();
  await records.writeService('shop/web', status);
  expect(server.writes).toHaveLength(2);
});

test('a write that came second is thought over', async () => {
  const foreign = { type: 'example.net/Checked', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  server.between = () => server.put({ status: { conditions: [foreign] } });
  await records.writeService('shop/web', status);
  expect(server.object?.['status']).toMatchObject({ conditions: [foreign, assigned] });
});

test('what was decided for a Service is not written to another one of its name', async () => {
  server.put({}, 'another');
  await expect(records.writeService('shop/web', status)).rejects.toMatchObject({ code: 'conflict' });
  expect(server.reads).toBe(limits.statusAttempts);
  expect(server.writes).toEqual([]);
  // Nor when it was heard of meanwhile.
  see();
  await expect(records.writeService('shop/web', status)).rejects.toMatchObject({ code: 'conflict' });
  await records.writeService('shop/web', { ...status, uid: 'another' });
  expect(server.writes).toHaveLength(1);
});

test('a Service that took the place of another one is told what that one was told', async () => {
  const none = { ...status, ingress: [] };
  await records.writeService('shop/web', none);
  server.put({ status: {} }, 'another');
  see();
  await records.writeService('shop/web', { ...none, uid: 'another' });
  expect(server.object?.['status']).toMatchObject({ conditions: [assigned] });
});

test('a Service that is gone needs no status', async () => {
  server.object = undefined;
  await records.writeService('shop/web', status);
  await records.removeService('shop/web');
  expect(server.writes).toEqual([]);
});

test('what Herald did not write it does not take away', async () => {
  server.put({ status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } } });
  await records.removeService('shop/web');
  expect(server.reads).toBe(0);
  await records.writeService('shop/web', status);
  await records.removeService('shop/web');
  expect(server.object?.['status']).toEqual({ loadBalancer: { ingress: null }, conditions: null });
});
