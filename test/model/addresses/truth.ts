import type { HeraldConfig, IPAddressPool } from '../../../src/model/kinds/types.ts';
import type { Namespace } from '../../../src/model/objects/cluster.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Ingress, Service } from '../../../src/model/objects/service.ts';
import type { HeraldObject, KindName } from '../../../src/model/store/snapshot.ts';
import type { ReleasedAddress } from '../../../src/model/parse/released-address.ts';
import type { Random } from '../../fuzz/random.ts';

export interface Recorded {
  readonly ingress: readonly Ingress[];
  /** The Service lacks what it asks for since the change of this number. */
  readonly since?: number;
}

/** The objects and the records as an API server or a directory has them, whoever has heard of them. */
export class Truth {
  /** As on an API server: the record is a part of its Service, goes with it, and is not that of another one with its name. */
  readonly attached: boolean;
  readonly services = new Map<ServiceKey, Service>();
  readonly pools = new Map<string, IPAddressPool>();
  readonly namespaces = new Map<string, Namespace>();
  config: HeraldConfig | undefined;
  readonly records = new Map<ServiceKey, Recorded>();
  /** What pools say that they keep. */
  readonly released = new Map<string, readonly ReleasedAddress[]>();
  /** Changes of records so far: their time. */
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

  copy(): Truth {
    const copy = new Truth(this);
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
