import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/error.ts';
import { listPages } from '../../kube/list-pages.ts';
import { rawKey, rawObject, type RawObject } from '../../kube/raw-object.ts';
import { nodeStateManifest } from '../../model/manifest.ts';
import type { ServiceKey } from '../../model/metadata.ts';
import type { NodeState } from '../../model/node-state.ts';
import { heraldApiVersion, pluralOf } from '../../model/kinds.ts';
import { readServiceRecord } from '../../model/parse/service-record.ts';
import { sameContent } from '../../model/same-content.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import type { Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { RecordedAddresses } from '../directory/recorded.ts';
import type { RecordedCondition, RecordedServiceStatus } from '../directory/records.ts';
import { limits } from './limits.ts';
import { conditionsPatch, isRecorded, statusPatch } from './service-status.ts';

export interface KubernetesRecordsComponents {
  readonly client: KubeClient;
  readonly snapshot: Snapshot;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Writes what Herald records into the API server: the StatusWriter of a controller, and the node state of an agent. Every write of
 * a status names the uid and the version that it is about, and is thought over when something came between. Calls reject with
 * KubeError, for the caller to try again.
 */
export class KubernetesRecords {
  readonly #components: KubernetesRecordsComponents;
  /** What we wrote last, as text: what is there already is not even asked for. */
  readonly #written = new Map<ServiceKey, string>();
  #lacksNodeState = false;

  constructor(components: KubernetesRecordsComponents) {
    this.#components = components;
  }

  /** The addresses that Herald has given, as the API server knows them, also of Services that cannot be read. */
  async recorded(): Promise<RecordedAddresses> {
    const addresses = new Map<ServiceKey, readonly Address[]>();
    const uids = new Map<ServiceKey, string>();
    const unreadable = new Map<ServiceKey, string>();
    for await (const { items } of listPages(this.#components.client, '/api/v1/services', {}, new AbortController().signal)) {
      for (const service of items) {
        if (!isRecorded(service)) continue;
        const key = rawKey(service) as ServiceKey;
        uids.set(key, String(service.metadata['uid']));
        const { ingress = [], problems } = readServiceRecord(service);
        if (problems.length > 0) unreadable.set(key, `status of Service ${key}`);
        else
          addresses.set(
            key,
            ingress.flatMap(({ address }) => address ?? []),
          );
        if (!this.#written.has(key)) this.#written.set(key, '');
      }
    }
    return { addresses, uids, unreadable };
  }

  /** Writes to the Service of this uid, and to no other one. */
  async writeService(key: ServiceKey, status: RecordedServiceStatus & { readonly uid: string }): Promise<void> {
    const text = JSON.stringify(status, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    // Somebody may have written over it since.
    const seen = this.#components.snapshot.services.get(key);
    if (sameContent(seen?.ingress, status.ingress) && this.#written.get(key) === text) return;
    this.#written.set(key, '');
    const found = await this.#patchStatus(servicePath(key), (service, now) => {
      if (service.metadata['uid'] !== status.uid) throw new KubeError('conflict', `another Service ${key} is there by now`);
      return statusPatch(service, status, now);
    });
    if (found) this.#written.set(key, text);
    else this.#written.delete(key);
  }

  /** Takes away what we wrote, and nothing else. */
  async removeService(key: ServiceKey): Promise<void> {
    if (!this.#written.has(key)) return;
    await this.#patchStatus(servicePath(key), (service, now) => (isRecorded(service) ? statusPatch(service, undefined, now) : undefined));
    this.#written.delete(key);
  }

  async writeObject(kind: string, name: string, conditions: readonly RecordedCondition[]): Promise<void> {
    const path = `/apis/${heraldApiVersion}/${pluralOf(kind)}/${encodeURIComponent(name)}`;
    await this.#patchStatus(path, (object, now) => conditionsPatch(object, conditions, now));
  }

  /** Where the CRD is not installed nothing is reported, and that is said once. */
  async writeNodeState(state: NodeState): Promise<void> {
    const { client, log } = this.#components;
    const path = `/apis/${heraldApiVersion}/nodestates/${encodeURIComponent(state.metadata.name)}`;
    const { status, ...object } = nodeStateManifest(state) as { status: object };
    const apply = {
      method: 'PATCH',
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: 'herald-agent', force: true },
    } as const;
    const write = (): Promise<unknown> => client.write({ ...apply, path: `${path}/status`, body: { ...object, status } });
    try {
      await write().catch(async (error: unknown) => {
        if (!isNotFound(error)) throw error;
        await client.write({ ...apply, path, body: object });
        await write();
      });
      this.#lacksNodeState = false;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (!this.#lacksNodeState)
        log.warn({ fix: 'install the CRDs of Herald' }, 'the API server has no kind NodeState: nobody can see the state of this node');
      this.#lacksNodeState = true;
    }
  }

  /** Resolves to false where there is no such object. */
  async #patchStatus(path: string, patchOf: (object: RawObject, now: Date) => object | undefined): Promise<boolean> {
    const { client, clock } = this.#components;
    for (let attempt = 1; ; attempt++) {
      try {
        const patch = patchOf(rawObject(await client.get(path)), clock.date());
        if (patch === undefined) return true;
        await client.write({ method: 'PATCH', path: `${path}/status`, contentType: 'application/merge-patch+json', body: patch });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        const lostRace = error instanceof KubeError && error.code === 'conflict' && attempt < limits.statusAttempts;
        if (!lostRace) throw error;
      }
    }
  }
}

function servicePath(key: ServiceKey): string {
  const [namespace = '', name = ''] = key.split('/', 2);
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`;
}

function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.code === 'notFound';
}
