import type { ServerResponse } from 'node:http';
import { objectKey, type ApiObject } from './object.ts';
import type { Selector } from './selector.ts';

interface Change {
  readonly version: number;
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

interface Watcher {
  readonly selects: Selector;
  readonly response: ServerResponse;
}

/** The number of changes that a watch may lag behind. A watch from an older version must list again, as with a real API server. */
const keptChanges = 50_000;

/** The objects of one kind, their changes and their watchers. */
export class Collection {
  readonly apiVersion: string;
  readonly kind: string;
  readonly #objects = new Map<string, ApiObject>();
  readonly #watchers = new Set<Watcher>();
  #changes: Change[] = [];
  #forgotten = 0;

  constructor(apiVersion: string, kind: string) {
    this.apiVersion = apiVersion;
    this.kind = kind;
  }

  get(key: string): ApiObject | undefined {
    return this.#objects.get(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  put(given: ApiObject, version: number): void {
    const key = objectKey(given);
    const before = this.#objects.get(key);
    // An object that is created again after its deletion gets a new uid.
    const uid = before?.metadata.uid ?? given.metadata.uid ?? `uid-${version}`;
    const after = { ...given, metadata: { ...given.metadata, uid, resourceVersion: String(version) } };
    this.#objects.set(key, after);
    this.#changed({ version, before, after });
  }

  delete(key: string, version: number): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#changed({ version, before, after: undefined });
  }

  list(selects: Selector, version: number): object {
    const items = [...this.#objects.values()].filter(selects);
    return { apiVersion: this.apiVersion, kind: `${this.kind}List`, metadata: { resourceVersion: String(version) }, items };
  }

  /** Sends all events after a version, and later ones. Returns false when these events are forgotten. */
  watch(response: ServerResponse, selects: Selector, after: number): boolean {
    if (after < this.#forgotten) return false;
    const watcher = { selects, response };
    for (const change of this.#changes) if (change.version > after) notify(watcher, change);
    this.#join(watcher);
    return true;
  }

  /** Sends all objects as events, a bookmark that marks their end, and later events (KEP-3157). */
  watchList(response: ServerResponse, selects: Selector, version: number): void {
    const watcher = { selects, response };
    for (const object of this.#objects.values()) notify(watcher, { version, before: undefined, after: object });
    const metadata = { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } };
    write(response, 'BOOKMARK', { apiVersion: this.apiVersion, kind: this.kind, metadata });
    this.#join(watcher);
  }

  #join(watcher: Watcher): void {
    this.#watchers.add(watcher);
    watcher.response.once('close', () => this.#watchers.delete(watcher));
  }

  #changed(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 2 * keptChanges) {
      const forgotten = this.#changes.slice(0, -keptChanges);
      this.#forgotten = forgotten.at(-1)?.version ?? this.#forgotten;
      this.#changes = this.#changes.slice(-keptChanges);
    }
    for (const watcher of this.#watchers) notify(watcher, change);
  }
}

/** Sends a change as ADDED, MODIFIED or DELETED, by whether the watcher selects the object before and after. */
function notify({ selects, response }: Watcher, { version, before, after }: Change): void {
  const was = before !== undefined && selects(before);
  if (after !== undefined && selects(after)) write(response, was ? 'MODIFIED' : 'ADDED', after);
  else if (was) write(response, 'DELETED', { ...before, metadata: { ...before.metadata, resourceVersion: String(version) } });
}

function write(response: ServerResponse, type: string, object: object): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}
