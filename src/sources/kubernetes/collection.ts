import type { KubeError, KubeErrorCode } from '../../kube/error.ts';
import type { RawObject } from '../../kube/raw-object.ts';
import type { ReflectorSink } from '../../kube/reflector.ts';
import { parseObject, type FieldProblem } from '../../model/parse.ts';
import type { Change, Kind } from '../../model/snapshot.ts';
import type { Store } from '../../model/store.ts';
import type { SourceProblem } from '../source.ts';

export interface CollectionEvents {
  readonly changed: (changes: readonly Change[]) => void;
  readonly problemsChanged: () => void;
}

/**
 * The objects of one kind on their way from the API server into the store. Each is reduced to what decisions use, in the moment it
 * arrives. Of an object that was edited into something that cannot be used, the last good version stays.
 */
export class Collection implements ReflectorSink {
  readonly #kind: Kind;
  readonly #apiVersion: string;
  readonly #store: Store;
  readonly #events: CollectionEvents;
  /** The uid of the version in the store. */
  readonly #good = new Map<string, unknown>();
  readonly #problems = new Map<string, readonly SourceProblem[]>();
  readonly #answered = Promise.withResolvers<void>();
  #changes: Change[] = [];
  #dirty = false;
  #trouble: SourceProblem | undefined;

  constructor({ kind, apiVersion }: { readonly kind: Kind; readonly apiVersion: string }, store: Store, events: CollectionEvents) {
    this.#kind = kind;
    this.#apiVersion = apiVersion;
    this.#store = store;
    this.#events = events;
  }

  /** Resolves when every object has been read once. */
  get read(): Promise<void> {
    return this.#answered.promise;
  }

  problems(): SourceProblem[] {
    return [...(this.#trouble === undefined ? [] : [this.#trouble]), ...[...this.#problems.values()].flat()];
  }

  present(key: string, raw: RawObject): void {
    const { uid } = raw.metadata;
    // Elements of a list do not say what they are.
    const { object, problems, warnings } = parseObject({ ...raw, apiVersion: this.#apiVersion, kind: this.#kind });
    this.#note(key, [
      ...problems.map((problem) => this.#located('error', key, problem)),
      ...warnings.map((warning) => this.#located('warning', key, warning)),
    ]);
    if (object !== undefined) {
      this.#good.set(key, uid);
      this.#changes.push(...this.#store.upsert(object));
    } else if (this.#good.has(key) && this.#good.get(key) !== uid) this.#remove(key);
  }

  gone(key: string): void {
    this.#note(key, []);
    this.#remove(key);
  }

  flush(): void {
    const changes = this.#changes;
    this.#changes = [];
    if (this.#dirty) this.#events.problemsChanged();
    this.#dirty = false;
    if (changes.length > 0) this.#events.changed(changes);
  }

  complete(): void {
    this.#answered.resolve();
  }

  trouble(error: KubeError | undefined): void {
    this.#trouble = error === undefined ? undefined : problemOf(error, this.#kind);
    this.#events.problemsChanged();
  }

  /** Nobody wants them any more. */
  clear(): void {
    for (const key of this.#good.keys()) this.gone(key);
    this.#problems.clear();
    this.flush();
  }

  #remove(key: string): void {
    this.#good.delete(key);
    this.#changes.push(...this.#store.remove(this.#kind, key));
  }

  #note(key: string, problems: readonly SourceProblem[]): void {
    if (problems.length === 0 && !this.#problems.has(key)) return;
    if (problems.length === 0) this.#problems.delete(key);
    else this.#problems.set(key, problems);
    this.#dirty = true;
  }

  #located(severity: SourceProblem['severity'], key: string, { field, message, fix }: FieldProblem): SourceProblem {
    return { severity, object: `${this.#kind}/${key}`, field, message, fix };
  }
}

/** What concerns all kinds alike is one problem, said once. */
const ofTheServer: ReadonlySet<KubeErrorCode> = new Set<KubeErrorCode>([
  'unreachable',
  'untrusted',
  'credentials',
  'unauthorized',
  'busy',
  'failing',
  'stalled',
]);

function problemOf({ code, message, fix }: KubeError, kind: Kind): SourceProblem {
  const problem = { severity: 'error', fix } as const;
  if (ofTheServer.has(code)) return { ...problem, message: `the API server cannot be read: ${message}` };
  return { ...problem, object: kind, message: `cannot be read: ${message}` };
}
