import { sleep, type Clock } from '../../../system/clock.ts';
import { KubeError, undefinedOn } from '../../../kube/error.ts';
import type { RequestsAndPages } from '../../../kube/client/fenced-client.ts';
import type { ListPage } from '../../../kube/format/object-format.ts';
import { serviceWithRecord } from '../../../kube/format/protobuf/kinds/service.ts';
import { ProtobufError } from '../../../kube/format/protobuf/protobuf-error.ts';
import { listAll, listPages, pagesBy } from '../../../kube/reflector/list-pages.ts';
import { rawKey, rawObject, type RawObject } from '../../../kube/raw-object.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import { nodeStateManifest } from '../../../model/status-manifest.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { ObjectReference } from '../../../model/objects/object-event.ts';
import type { NodeState } from '../../../model/objects/node-state.ts';
import { heraldApiVersion, pluralOf } from '../../../model/kinds.ts';
import { agentManager } from '../../../model/kinds/report-time.ts';
import { parseObject } from '../../../model/parse.ts';
import { readServiceRecord } from '../../../model/parse/service/service-record.ts';
import { readReleased, type ReleasedAddress } from '../../../model/parse/released-address.ts';
import { sameContent } from '../../../model/store/same-content.ts';
import type { Ingress } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../../net/address.ts';
import type { Log } from '../../../system/log.ts';
import type { RecordedAddresses } from '../../directory/recorded-addresses.ts';
import type { RecordedObjectStatus, RecordedServiceStatus } from '../../directory/records/status-writer.ts';
import { limits } from '../limits.ts';
import { OwnWrites, type ObjectVersion } from './own-writes.ts';
import {
  datedConditions,
  isRecorded,
  ourConditions,
  servicePath,
  sameConditions,
  statusPatch,
  type DatedCondition,
  conditionsOf,
  dated,
} from './service-status.ts';
import { isRecord } from '../../../lang/is-record.ts';

interface KubernetesRecordsComponents {
  readonly client: RequestsAndPages;
  readonly snapshot: Snapshot;
  readonly clock: Clock;
  readonly log: Log;
}

/** The recorded status of a Service, as far as known. */
interface Known {
  readonly ingress: readonly Ingress[];
  readonly conditions: readonly DatedCondition[];
  /** The response to a write is missing, so the write may or may not have taken effect. */
  readonly unsure?: true;
}

/**
 * Writes Herald's records into the API server: the StatusWriter of a controller, and an agent's node state. Every status write names the
 * uid and version that the decision was based on, so it is refused when another program wrote in between. Calls reject with KubeError, and
 * the caller decides again.
 */
export class KubernetesStatusWriter {
  readonly #components: KubernetesRecordsComponents;
  /** Services with a status of ours, so that an unchanged status needs no request. */
  readonly #known = new Map<ServiceKey, Known>();
  readonly #own = new OwnWrites();
  /** Statuses of Services that are being written. */
  #atWork = 0;
  #lacksNodeState = false;
  /** The uid of the Node that owns our NodeState, or of the one for which the API server refused an owner. */
  #ownerUid: string | undefined;

  constructor(components: KubernetesRecordsComponents) {
    this.#components = components;
  }

  /** True while so many statuses of Services are being written that more probably wait. */
  get isBusy(): boolean {
    return this.#atWork >= limits.busyStatusWrites;
  }

  /**
   * Returns all of Herald's records as the API server has them now, also of unreadable Services. Resolves when the snapshot is as recent: a
   * new leader must not decide from a state that another controller has changed.
   */
  async recorded(): Promise<RecordedAddresses> {
    const { clock } = this.#components;
    for (let list = 0; list < limits.catchUpLists; list++) {
      const services = await this.#list();
      const until = clock.now() + limits.catchUpMilliseconds;
      do {
        if (services.every((service) => this.#isSeen(service))) return { ...this.#readRecords(services), released: await this.#released() };
        await sleep(clock, pollMilliseconds);
      } while (clock.now() < until);
    }
    throw new KubeError('stalled', 'the watch of Services does not come as far as a list of them');
  }

  async writeService(key: ServiceKey, status: RecordedServiceStatus, from: ObjectVersion): Promise<void> {
    const { snapshot, clock, log } = this.#components;
    const { ingress } = status;
    const known = this.#known.get(key);
    const before = known?.conditions ?? [];
    const conditions = datedConditions(status.conditions, before, clock.date());
    // Another program may have overwritten ours since.
    const there = this.#own.isLatest(key, from) ? known?.ingress : snapshot.services.get(key)?.ingress;
    if (known !== undefined && known.unsure !== true && sameConditions(before, conditions) && sameContent(there, ingress)) return;
    if (known !== undefined && known.unsure !== true && !sameContent(there, known.ingress))
      log.warn(
        { service: key, addresses: addressTexts(there), ours: addressTexts(known.ingress) },
        'another program wrote the addresses of a Service',
      );
    await this.#patchService(key, from, { ingress, conditions, before });
    this.#known.set(key, { ingress, conditions });
  }

  /** True when another program has changed the addresses since our write. */
  overwritten(key: ServiceKey, from: ObjectVersion): boolean {
    const known = this.#known.get(key);
    if (known === undefined || known.unsure === true || this.#own.isLatest(key, from)) return false;
    return !sameContent(known.ingress, this.#components.snapshot.services.get(key)?.ingress);
  }

  /** Removes our conditions and leaves the addresses to another controller. */
  async disownService(key: ServiceKey, from: ObjectVersion): Promise<void> {
    const before = this.#known.get(key)?.conditions ?? [];
    if (before.length > 0) await this.#patchService(key, from, { conditions: [], before });
    this.#forget(key);
  }

  /** Removes what we wrote, and nothing else. */
  async releaseService(key: ServiceKey, from: ObjectVersion | undefined): Promise<void> {
    const known = this.#known.get(key);
    if (known !== undefined && from !== undefined)
      await this.#patchService(key, from, { ingress: [], conditions: [], before: known.conditions });
    this.#forget(key);
  }

  #forget(key: ServiceKey): void {
    this.#known.delete(key);
    this.#own.forgetService(key);
  }

  async writeObject(
    { kind, name, uid }: ObjectReference,
    { conditions, fields }: RecordedObjectStatus,
  ): Promise<readonly Condition[] | undefined> {
    const path = `/apis/${heraldApiVersion}/${pluralOf(kind)}/${encodeURIComponent(name)}`;
    let before: readonly Condition[] | undefined;
    await this.#patchObject(path, (object, now) => {
      // An object of the same name with another UID will be reported by the watch.
      if (object.metadata['uid'] !== uid) return undefined;
      before = recordedConditions(object);
      return objectPatch(object, { conditions, fields }, now);
    });
    return before;
  }

  async removeObject(): Promise<void> {
    // The object is gone, and its status with it.
  }

  /**
   * Writes the state of a node, and makes its Node the owner of the object, so that it goes with the Node. Without the CRD nothing is
   * written, and that is logged once.
   */
  async writeNodeState(state: NodeState): Promise<void> {
    const { client, log } = this.#components;
    const { name } = state.metadata;
    const { status, ...object } = nodeStateManifest(state) as { status: object };
    const write = (): Promise<unknown> => client.write({ ...apply, path: `${nodeStatePath(name)}/status`, body: { ...object, status } });
    try {
      const written = await undefinedOn(write(), 'notFound');
      if (written === undefined) {
        if (!(await this.#writeOwner(name))) await client.write({ ...apply, path: nodeStatePath(name), body: object });
        await write();
      } else if (!this.#isOwned(name, rawObject(written))) await this.#writeOwner(name);
      this.#lacksNodeState = false;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (!this.#lacksNodeState)
        log.warn({ fix: 'install the CRDs of Herald' }, 'the API server has no kind NodeState: the state of this node is not recorded');
      this.#lacksNodeState = true;
    }
  }

  /** Deletes the state of a node that was removed. Nothing is deleted when its agent has written since, and nothing when it is gone. */
  async removeNodeState(name: string, { uid, resourceVersion }: ObjectVersion): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    await undefinedOn(this.#components.client.write({ method: 'DELETE', path: nodeStatePath(name), body }), 'notFound', 'conflict');
  }

  /** False when the Node is known and does not own the object, unless the API server refused that. */
  #isOwned(name: string, { metadata }: RawObject): boolean {
    const uid = this.#components.snapshot.nodes.get(name)?.metadata.uid;
    if (uid === undefined || uid === '' || uid === this.#ownerUid) return true;
    const { ownerReferences } = metadata;
    const isOwned = Array.isArray(ownerReferences) && ownerReferences.some((owner) => isRecord(owner) && owner['uid'] === uid);
    if (isOwned) this.#ownerUid = uid;
    return isOwned;
  }

  /**
   * Creates the object with its owner, or sets the owner. Returns false when the Node is not known, and when the API server refuses: with
   * OwnerReferencesPermissionEnforcement, as in OpenShift, an owner can be set only by who may delete the object, and an agent may not.
   */
  async #writeOwner(name: string): Promise<boolean> {
    const { client, snapshot, log } = this.#components;
    const uid = snapshot.nodes.get(name)?.metadata.uid;
    if (uid === undefined || uid === '') return false;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
    const body = { apiVersion: heraldApiVersion, kind: 'NodeState', metadata: { name, ownerReferences } };
    const isKnown = uid === this.#ownerUid;
    try {
      await client.write({ ...apply, path: nodeStatePath(name), body });
      this.#ownerUid = uid;
      return true;
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'forbidden') throw error;
      this.#ownerUid = uid;
      if (!isKnown)
        log.info({ problem: error.message }, 'the Node cannot own its NodeState; the controller deletes it after the Node is gone');
      return false;
    }
  }

  /** Lists the Services with a record of ours. */
  async #list(): Promise<RawObject[]> {
    const { client } = this.#components;
    const path = '/api/v1/services';
    const recordedIn = async (pages: AsyncIterable<Pick<ListPage, 'items'>>): Promise<RawObject[]> => {
      const services: RawObject[] = [];
      for await (const { items } of pages) for (const service of items) if (isRecorded(service)) services.push(service);
      return services;
    };
    try {
      return await recordedIn(pagesBy((query) => client.page(path, serviceWithRecord, query), {}));
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      return recordedIn(listPages(client, path, {}));
    }
  }

  /** Returns the released addresses that pools keep in their status. */
  async #released(): Promise<ReleasedAddress[]> {
    const path = `/apis/${heraldApiVersion}/${pluralOf('IPAddressPool')}`;
    // Without the CRD there are no pools.
    const pools = (await undefinedOn(listAll(this.#components.client, path, {}), 'notFound')) ?? [];
    return pools.flatMap(({ status }) => readReleased(status));
  }

  /** For an unreadable Service the snapshot has an earlier form or none. */
  #isSeen(service: RawObject): boolean {
    const seen = this.#components.snapshot.services.get(rawKey(service) as ServiceKey);
    if (seen !== undefined && BigInt(seen.metadata.resourceVersion) >= BigInt(service.metadata.resourceVersion)) return true;
    return parseObject({ ...service, apiVersion: 'v1', kind: 'Service' }).object === undefined;
  }

  #readRecords(services: readonly RawObject[]): RecordedAddresses {
    const addresses = new Map<ServiceKey, readonly Address[]>();
    const uids = new Map<ServiceKey, string>();
    const unreadable = new Map<ServiceKey, string>();
    const waitingSince = new Map<ServiceKey, string>();
    const conditions = new Map<ServiceKey, readonly Condition[]>();
    for (const service of services) {
      const key = rawKey(service) as ServiceKey;
      uids.set(key, String(service.metadata['uid']));
      const record = readServiceRecord(service);
      if (record.problems.length > 0) unreadable.set(key, `status of Service ${key}`);
      else
        addresses.set(
          key,
          (record.ingress ?? []).flatMap(({ address }) => address ?? []),
        );
      conditions.set(key, record.conditions);
      if (record.waitingSince !== undefined) waitingSince.set(key, record.waitingSince);
      this.#known.set(key, { ingress: record.ingress ?? [], conditions: ourConditions(service) });
    }
    return { addresses, uids, unreadable, waitingSince, conditions };
  }

  /** Rejects with `conflict` when the Service differs from the version that was decided on; the caller decides again. */
  async #patchService(key: ServiceKey, from: ObjectVersion, change: Parameters<typeof statusPatch>[1]): Promise<void> {
    const { uid } = from;
    const body = statusPatch({ uid, resourceVersion: this.#own.resourceVersionFor(key, from) }, change);
    const { ingress = [], conditions = [] } = this.#known.get(key) ?? {};
    const added = change.conditions.filter(({ type }) => !conditions.some((known) => known.type === type));
    // Until the response arrives, the recorded status is unknown.
    this.#known.set(key, { ingress, conditions: [...conditions, ...added], unsure: true });
    this.#atWork++;
    try {
      const answer = await this.#components.client.write({
        method: 'PATCH',
        path: `${servicePath(key)}/status`,
        contentType: 'application/strategic-merge-patch+json',
        body,
        answer: 'identity',
      });
      this.#own.recordWrite(key, from, rawObject(answer).metadata.resourceVersion);
    } catch (error) {
      // A Service that is gone needs no status; the watch will report it.
      if (!isNotFound(error)) throw error;
    } finally {
      this.#atWork--;
    }
  }

  /** Patches one of Herald's own objects, whose status has no other writer. */
  async #patchObject(path: string, patchOf: (object: RawObject, now: Date) => object | undefined): Promise<void> {
    const { client, clock } = this.#components;
    for (let attempt = 1; ; attempt++) {
      try {
        const patch = patchOf(rawObject(await client.get(path)), clock.date());
        if (patch === undefined) return;
        await client.write({ method: 'PATCH', path: `${path}/status`, contentType: 'application/merge-patch+json', body: patch });
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        const lostRace = error instanceof KubeError && error.code === 'conflict' && attempt < limits.statusAttempts;
        if (!lostRace) throw error;
      }
    }
  }
}

const pollMilliseconds = 20;

/** Server-side apply of an agent to its own NodeState. */
const apply = {
  method: 'PATCH',
  contentType: 'application/apply-patch+yaml',
  query: { fieldManager: agentManager, force: true },
} as const;

function nodeStatePath(name: string): string {
  return `/apis/${heraldApiVersion}/nodestates/${encodeURIComponent(name)}`;
}

function addressTexts(ingress: readonly Ingress[] = []): string[] {
  return ingress.map(({ address, hostname = '' }) => (address === undefined ? hostname : formatAddress(address)));
}

function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.code === 'notFound';
}

/** Builds a merge patch for the whole status of one of our objects, which has no other writer. Undefined when nothing differs. */
export function objectPatch(object: RawObject, { conditions, fields }: RecordedObjectStatus, now: Date): object | undefined {
  const before = isRecord(object['status']) ? object['status'] : {};
  const status = { ...fields, conditions: conditions.map((condition) => dated(condition, conditionsOf(object), now)) };
  if (Object.entries(status).every(([name, value]) => sameContent(before[name], asRead(value)))) return undefined;
  const { uid, resourceVersion } = object.metadata;
  return { metadata: { uid, resourceVersion }, status };
}

/** Returns the recorded conditions that can be parsed. */
export function recordedConditions(object: RawObject): readonly Condition[] {
  return conditionsOf(object).flatMap(({ type, status, reason, message }) => {
    if (typeof type !== 'string' || typeof reason !== 'string' || (status !== 'True' && status !== 'False' && status !== 'Unknown'))
      return [];
    return [{ type, status, reason, message: typeof message === 'string' ? message : '' }];
  });
}

/** An int64 is read as the nearest JavaScript number. */
function asRead(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asRead);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asRead(item)]));
}
