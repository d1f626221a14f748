import type { HeraldConfig, IPAddressPool } from '../../../src/model/kinds/types.ts';
import type { Namespace } from '../../../src/model/objects/cluster.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Ingress, Service } from '../../../src/model/objects/service.ts';
import type { HeraldObject, KindName } from '../../../src/model/store/snapshot.ts';
import type { ReleasedAddress } from '../../../src/model/parse/released-address.ts';
import type { Random } from '../../fuzz/random.ts';

export interface Recorded {
  readonly ingress: readonly Ingress[];
  /** Set while the Service lacks an address that it asks for: the number under which it began to lack it. */
  readonly since?: number;
}

/** The true objects and records, as an API server or a directory has them, whether a controller has seen them or not. */
export class ClusterState {
  /**
   * True, as on an API server: the record is part of its Service, is deleted with it, and does not belong to a recreated Service of that
   * name.
   */
  readonly attached: boolean;
  readonly services = new Map<ServiceKey, Service>();
  readonly pools = new Map<string, IPAddressPool>();
  readonly namespaces = new Map<string, Namespace>();
  config: HeraldConfig | undefined;
  readonly records = new Map<ServiceKey, Recorded>();
  /** Released addresses as stored in the status of pools. */
  readonly released = new Map<string, readonly ReleasedAddress[]>();
  /** Counts how often a Service began to lack an address. Serves as time. */
  writes = 0;
  #created = 0;

  constructor({ attached }: { readonly attached: boolean }) {
    this.attached = attached;
  }

  putService(key: ServiceKey, service: Service): void {
    const uid = this.services.get(key)?.metadata.uid ?? (this.attached ? `${key} ${this.#created++}` : key);
    this.services.set(key, { ...service, metadata: { ...service.metadata, uid } });
  }

  removeService(key: ServiceKey): void {
    this.services.delete(key);
    if (this.attached) this.records.delete(key);
  }

  objects(): HeraldObject[] {
    const config = this.config === undefined ? [] : [this.config];
    return [...this.services.values(), ...this.pools.values(), ...this.namespaces.values(), ...config];
  }

  find(kind: KindName, key: string): HeraldObject | undefined {
    if (kind === 'Service') return this.services.get(key as ServiceKey);
    if (kind === 'IPAddressPool') return this.pools.get(key);
    return kind === 'Namespace' ? this.namespaces.get(key) : this.config;
  }

  copy(): ClusterState {
    const copy = new ClusterState(this);
    for (const [key, value] of this.services) copy.services.set(key, value);
    for (const [key, value] of this.pools) copy.pools.set(key, value);
    for (const [key, value] of this.namespaces) copy.namespaces.set(key, value);
    for (const [key, value] of this.records) copy.records.set(key, value);
    for (const [key, value] of this.released) copy.released.set(key, value);
    copy.config = this.config;
    copy.writes = this.writes;
    copy.#created = this.#created;
    return copy;
  }
}

export function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const result = [...list];
  for (let left = result.length - 1; left > 0; left--) {
    const other = random.below(left + 1);
    const [a, b] = [result[left], result[other]];
    if (a !== undefined && b !== undefined) [result[left], result[other]] = [b, a];
  }
  return result;
}
