import type { Change, HeraldObject, KindName, Snapshot } from '../../src/model/store/snapshot.ts';
import { objectKey, Store } from '../../src/model/store/store.ts';
import type { Condition } from '../../src/model/objects/condition.ts';
import type { Ingress } from '../../src/model/objects/service.ts';
import { readConditionRecord } from '../../src/model/parse/service/service-record.ts';
import type { ServiceKey } from '../../src/model/objects/metadata.ts';
import type { KeptObject, Source, SourceProblem } from '../../src/sources/source.ts';

/** A source that holds the objects of a test and reports each change at once. */
export class TestSource implements Source {
  readonly store = new Store();
  readonly #listeners = new Set<(changes: readonly Change[]) => void>();
  readonly #problemListeners = new Set<(problems: readonly SourceProblem[]) => void>();
  #batch: Change[] | undefined;
  #problems: readonly SourceProblem[] = [];
  #kept: readonly KeptObject[] = [];

  constructor(...objects: readonly HeraldObject[]) {
    for (const object of objects) this.store.upsert(object);
  }

  get snapshot(): Snapshot {
    return this.store;
  }

  put(...objects: readonly HeraldObject[]): void {
    this.#tell(objects.flatMap((object) => this.store.upsert(object)));
  }

  find(kind: KindName, key: string): HeraldObject | undefined {
    const { services, pools, namespaces, config } = this.store;
    if (kind === 'HeraldConfig') return config;
    const maps: Partial<Record<KindName, ReadonlyMap<string, HeraldObject>>> = {
      Service: services,
      IPAddressPool: pools,
      Namespace: namespaces,
    };
    return maps[kind]?.get(key);
  }

  /** Reports all changes that `change` makes as one batch. */
  atOnce(change: () => void): void {
    const batch = (this.#batch = [] as Change[]);
    change();
    this.#batch = undefined;
    this.#tell(batch);
  }

  remove(object: HeraldObject): void {
    this.#tell(this.store.remove(object.kind, objectKey(object)));
  }

  /** Writes the status of a Service as a status writer does: the record comes back as a change. */
  record(key: ServiceKey, ingress: readonly Ingress[] | undefined, conditions: readonly Condition[] = []): void {
    this.#tell(this.store.setIngress(key, ingress, readConditionRecord(conditions)));
  }

  breakSomething(...problems: readonly SourceProblem[]): void {
    this.#problems = problems;
    for (const listener of this.#problemListeners) listener(problems);
  }

  async start(): Promise<void> {
    // Does nothing: the objects are there from the beginning.
  }

  onChange(listener: (changes: readonly Change[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  onProblem(listener: (problems: readonly SourceProblem[]) => void): () => void {
    this.#problemListeners.add(listener);
    return () => void this.#problemListeners.delete(listener);
  }

  problems(): readonly SourceProblem[] {
    return this.#problems;
  }

  kept(): readonly KeptObject[] {
    return this.#kept;
  }

  /** Reports objects whose earlier version is in force. */
  keep(...objects: readonly KeptObject[]): void {
    this.#kept = objects;
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  #tell(changes: readonly Change[]): void {
    if (this.#batch !== undefined) this.#batch.push(...changes);
    else if (changes.length > 0) for (const listener of this.#listeners) listener(changes);
  }
}
