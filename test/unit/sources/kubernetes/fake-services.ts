import type { Query, Write } from '../../../../src/kube/client/client.ts';
import { answerError, KubeError } from '../../../../src/kube/error.ts';
import { jsonPage } from '../../../../src/kube/format/json/json-format.ts';
import type { ListPage } from '../../../../src/kube/format/object-format.ts';
import type { ObjectTable } from '../../../../src/kube/format/protobuf/object-table.ts';

type Raw = Readonly<Record<string, unknown>> & { readonly metadata: Readonly<Record<string, unknown>> };
type Condition = Readonly<Record<string, unknown>>;

/** Services as an API server stores them: status changes are strategic merge patches that name the version they replace. */
export class FakeServices {
  readonly objects = new Map<string, Raw>();
  readonly writes: Write[] = [];
  reads = 0;
  /** Writes take effect, but their responses are lost. */
  losesAnswers = false;
  /** Writes refused because of another write in between. */
  conflicts = 0;
  /** Called for each change; undefined means deleted. */
  changed: (key: string, object: Raw | undefined) => void = () => undefined;
  #version = 100;

  /** Writes as another program: replaces these fields under the next version. */
  put(key: string, further: object = {}, uid = 'u1'): void {
    const [namespace, name] = key.split('/');
    const object = {
      apiVersion: 'v1',
      kind: 'Service',
      spec: { clusterIP: '10.96.0.9', ports: [{ port: 80 }] },
      ...this.objects.get(key),
      ...further,
      metadata: {
        ...(further as Partial<Raw>).metadata,
        name,
        namespace,
        uid,
        resourceVersion: String(++this.#version),
        creationTimestamp: (this.objects.get(key)?.metadata ?? (further as Partial<Raw>).metadata)?.['creationTimestamp'],
      },
    };
    this.#set(key, object);
  }

  remove(key: string): void {
    this.objects.delete(key);
    this.changed(key, undefined);
  }

  async get(path: string, _query?: Query, _signal?: AbortSignal): Promise<unknown> {
    if (path !== '/api/v1/services') throw answerError(404, '');
    this.reads++;
    return structuredClone({ metadata: { resourceVersion: String(this.#version) }, items: [...this.objects.values()] });
  }

  async page(path: string, _table: ObjectTable, query?: Query, signal?: AbortSignal): Promise<ListPage> {
    return jsonPage(await this.get(path, query, signal));
  }

  async write(write: Write, _signal?: AbortSignal): Promise<unknown> {
    const [, namespace = '', name = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/services\/([^/]+)\/status$/.exec(write.path) ?? [];
    const key = `${namespace}/${name}`;
    const object = this.objects.get(key);
    if (object === undefined) throw answerError(404, '');
    const { metadata, status } = structuredClone(write.body) as { metadata: Raw['metadata']; status: Record<string, unknown> };
    if (metadata['uid'] !== object.metadata['uid'] || metadata['resourceVersion'] !== object.metadata['resourceVersion']) {
      this.conflicts++;
      throw answerError(409, '');
    }
    this.writes.push(write);
    const before = (object['status'] ?? {}) as { readonly conditions?: readonly Condition[]; readonly loadBalancer?: object };
    const { ingress } = (status['loadBalancer'] ?? before.loadBalancer ?? {}) as { readonly ingress?: unknown };
    const conditions = merged(before.conditions ?? [], status['conditions'] as readonly Condition[]);
    this.put(
      key,
      {
        status: { loadBalancer: (ingress ?? null) === null ? {} : { ingress }, ...(conditions.length === 0 ? {} : { conditions }) },
        metadata: object.metadata,
      },
      String(object.metadata['uid']),
    );
    if (this.losesAnswers) throw new KubeError('unreachable', 'the connection broke');
    return structuredClone(this.objects.get(key));
  }

  #set(key: string, object: Raw): void {
    this.objects.set(key, object);
    this.changed(key, structuredClone(object));
  }
}

/** patchMergeKey type, patchStrategy merge. */
function merged(before: readonly Condition[], patch: readonly Condition[]): readonly Condition[] {
  const result = new Map(before.map((condition) => [condition['type'], condition]));
  for (const { $patch, ...condition } of patch) {
    if ($patch === 'delete') result.delete(condition['type']);
    else result.set(condition['type'], { ...result.get(condition['type']), ...condition });
  }
  return [...result.values()];
}
