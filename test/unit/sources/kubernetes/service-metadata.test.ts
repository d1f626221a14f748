import { beforeEach, describe, expect, test } from 'vitest';
import type { Write } from '../../../../src/kube/client/client.ts';
import { answerError, KubeError } from '../../../../src/kube/error.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { KubernetesServiceMetadata } from '../../../../src/sources/kubernetes/records/service-metadata.ts';
import { service } from '../../decisions/fixtures.ts';

const finalizer = 'herald.dev/load-balancer';
const key = 'shop/web';
let store: Store;
let writes: Write[];
/** The status with which the API server refuses writes. 0: it takes them. */
let refusal: number;
let metadata: KubernetesServiceMetadata;

beforeEach(() => {
  [store, writes, refusal] = [new Store(), [], 0];
  const client = {
    get: () => Promise.reject(new Error('nothing is read')),
    write: async (write: Write) => {
      if (refusal !== 0) throw answerError(refusal, '');
      writes.push(write);
      return {};
    },
  };
  metadata = new KubernetesServiceMetadata({ client, snapshot: store }, finalizer);
});

/** Puts the Service with this metadata. */
function put(further: { readonly finalizers?: readonly string[]; readonly annotations?: Readonly<Record<string, string>> } = {}): void {
  const web = service({ name: key });
  store.upsert({ ...web, metadata: { ...web.metadata, uid: 'u1', resourceVersion: '7', ...further } });
}

const bodies = (): unknown[] => writes.map(({ body }) => (body as { metadata: unknown }).metadata);

describe('the finalizer of a Service', () => {
  test('is added once, by a patch that names the Service by its UID and leaves other finalizers', async () => {
    put({ finalizers: ['example.org/other'] });
    await metadata.addFinalizer(key);
    expect(writes).toMatchObject([
      { method: 'PATCH', path: '/api/v1/namespaces/shop/services/web', contentType: 'application/strategic-merge-patch+json' },
    ]);
    expect(bodies()).toEqual([{ uid: 'u1', finalizers: [finalizer] }]);
    put({ finalizers: ['example.org/other', finalizer] });
    await metadata.addFinalizer(key);
    expect(writes).toHaveLength(1);
  });

  test('is removed alone, and only while it is there', async () => {
    put({ finalizers: ['example.org/other'] });
    await metadata.removeFinalizer(key);
    expect(writes).toEqual([]);
    put({ finalizers: ['example.org/other', finalizer] });
    await metadata.removeFinalizer(key);
    expect(bodies()).toEqual([{ uid: 'u1', '$deleteFromPrimitiveList/finalizers': [finalizer] }]);
  });

  test('cannot be added to a Service that is gone, as its deletion would not be noticed', async () => {
    await expect(metadata.addFinalizer(key)).rejects.toMatchObject({ code: 'conflict' });
    put();
    refusal = 404;
    await expect(metadata.addFinalizer(key)).rejects.toMatchObject({ code: 'conflict' });
    expect(writes).toEqual([]);
  });

  test('needs no removal from a Service that is gone, and other errors are passed on', async () => {
    await metadata.removeFinalizer(key);
    put({ finalizers: [finalizer] });
    refusal = 404;
    await metadata.removeFinalizer(key);
    refusal = 403;
    await expect(metadata.removeFinalizer(key)).rejects.toBeInstanceOf(KubeError);
  });
});

describe('annotations of a Service', () => {
  test('only values that differ are written, for the version of the decision', async () => {
    put({ annotations: { 'herald.dev/a': '1', 'herald.dev/b': '2', 'herald.dev/c': '3' } });
    const wanted = { 'herald.dev/a': '1', 'herald.dev/b': '9', 'herald.dev/c': undefined };
    await expect(metadata.annotate(key, wanted)).resolves.toBe(true);
    expect(bodies()).toEqual([{ uid: 'u1', resourceVersion: '7', annotations: { 'herald.dev/b': '9', 'herald.dev/c': null } }]);
  });

  test('nothing is written when they are set already, or when one to remove is missing', async () => {
    put({ annotations: { 'herald.dev/a': '1' } });
    await expect(metadata.annotate(key, { 'herald.dev/a': '1', 'herald.dev/b': undefined })).resolves.toBe(true);
    expect(writes).toEqual([]);
  });

  test('a Service that changed meanwhile must be decided again; other errors are passed on', async () => {
    put();
    refusal = 409;
    await expect(metadata.annotate(key, { 'herald.dev/a': '1' })).resolves.toBe(false);
    refusal = 403;
    await expect(metadata.annotate(key, { 'herald.dev/a': '1' })).rejects.toBeInstanceOf(KubeError);
  });
});
