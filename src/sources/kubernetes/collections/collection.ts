import { defined } from '../../../lang/defined.ts';
import type { KubeError, KubeErrorCode } from '../../../kube/error.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import type { ReflectorSink } from '../../../kube/reflector/reflector.ts';
import { parseObject, type FieldProblem, type ParseResult } from '../../../model/parse.ts';
import type { NodeState } from '../../../model/objects/node-state.ts';
import { sameContent } from '../../../model/store/same-content.ts';
import type { Change, HeraldObject, KindName } from '../../../model/store/snapshot.ts';
import type { KeptObject, SourceProblem } from '../../source.ts';
import { withoutPasswords } from '../../without-passwords.ts';

export interface CollectionEvents {
  /** The present time in milliseconds since the epoch. */
  readonly now: () => number;
  readonly changed: (changes: readonly Change[]) => void;
  readonly problemsChanged: () => void;
}

/** Receives the objects: the store, or a stage before it. */
export interface Destination {
  /** `written`: the object as written, if the kind is kept so. */
  upsert(object: HeraldObject, written?: unknown): Change[];
  remove(kind: KindName, key: string): Change[];
}

export interface CollectionKind {
  readonly kind: KindName;
  readonly apiVersion: string;
  /** Replaces the kind in messages. */
  readonly label?: string;
  /**
   * True for kinds of which the version in force is also kept as written, for callers that ask for it. Only kinds with few objects: what
   * the API server accepts of the others, Herald can use.
   */
  readonly isKeptAsWritten?: true;
}

/** An object in the store. */
interface Good {
  readonly uid: unknown;
  readonly written?: unknown;
}

/**
 * Passes the objects of one kind from the API server into the store, reduced on arrival to the fields that decisions use. When an edit
 * makes an object unusable, its last good version stays.
 */
export class Collection implements ReflectorSink {
  readonly #of: CollectionKind;
  readonly #destination: Destination;
  readonly #parse: (raw: RawObject) => ParseResult;
  readonly #events: CollectionEvents;
  readonly #good = new Map<string, Good>();
  /** Objects whose present version cannot be used while an earlier one is in the store, with the time of their first refusal. */
  readonly #kept = new Map<string, number>();
  /** The last report of each node, and when it came. Absent `received`: it was in a list. */
  readonly #arrivals = new Map<string, Pick<NodeState, 'updated' | 'received'>>();
  readonly #problems = new Map<string, readonly SourceProblem[]>();
  /** Objects from before a relist that the new list has not confirmed yet. */
  readonly #unconfirmed = new Set<string>();
  #answered = Promise.withResolvers<void>();
  #isAnswered = false;
  #changes: Change[] = [];
  #dirty = false;
  #trouble: SourceProblem | undefined;

  constructor(
    of: CollectionKind,
    destination: Destination,
    events: CollectionEvents,
    parse: (raw: RawObject) => ParseResult = (raw) => parseObject(raw, { unknownFields: 'warned of' }),
  ) {
    this.#of = of;
    this.#destination = destination;
    this.#parse = parse;
    this.#events = events;
  }

  /** Resolves when every object has been read. `begin` starts a new wait. */
  get read(): Promise<void> {
    return this.#answered.promise;
  }

  /** Starts a relist: objects that the new list has not confirmed when it is complete are deleted. */
  begin(): void {
    for (const key of [...this.#good.keys(), ...this.#problems.keys()]) this.#unconfirmed.add(key);
    if (this.#isAnswered) this.#answered = Promise.withResolvers<void>();
    this.#isAnswered = false;
  }

  problems(): SourceProblem[] {
    return [...(this.#trouble === undefined ? [] : [this.#trouble]), ...[...this.#problems.values()].flat()];
  }

  /** Returns the objects of which an earlier version is in force. */
  kept(): KeptObject[] {
    return [...this.#kept].flatMap(([key, since]) => {
      const problem = this.#problems.get(key)?.find(({ severity }) => severity === 'error');
      const written = this.#good.get(key)?.written;
      return problem === undefined ? [] : [{ object: this.#nameOf(key), problem, since, ...defined({ inForce: written }) }];
    });
  }

  present(key: string, raw: RawObject): void {
    const { uid } = raw.metadata;
    this.#unconfirmed.delete(key);
    // Elements of a list lack apiVersion and kind.
    const { apiVersion, kind, isKeptAsWritten } = this.#of;
    const whole = { ...raw, apiVersion, kind };
    const { object, problems, warnings } = this.#parse(whole);
    const earlier = this.#good.get(key);
    const isKept = object === undefined && problems.length > 0 && earlier?.uid === uid && earlier !== undefined;
    if (!isKept) this.#kept.delete(key);
    else if (!this.#kept.has(key)) this.#kept.set(key, this.#events.now());
    this.#note(key, [
      ...problems.map((problem, index) => ({
        ...this.#located('error', key, raw, problem),
        ...(isKept && index === 0 ? { keeps: [this.#nameOf(key)] } : {}),
      })),
      ...warnings.map((warning) => this.#located('warning', key, raw, warning)),
    ]);
    if (object !== undefined) {
      const dated = object.kind === 'NodeState' ? this.#dated(key, object) : object;
      const written = isKeptAsWritten === true ? withoutPasswords(whole) : undefined;
      this.#good.set(key, { uid, ...defined({ written }) });
      this.#changes.push(...this.#destination.upsert(dated, written));
    } else if (earlier !== undefined && earlier.uid !== uid) this.#remove(key);
  }

  /** A report that comes by the watch was stored just now, whatever the clocks of its node and of the API server say. */
  #dated(key: string, state: NodeState): NodeState {
    const last = this.#arrivals.get(key);
    const received = last?.updated === state.updated ? last.received : this.#isAnswered ? this.#events.now() : undefined;
    this.#arrivals.set(key, { updated: state.updated, ...defined({ received }) });
    return { ...state, ...defined({ received }) };
  }

  deleted(key: string): void {
    this.#unconfirmed.delete(key);
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
    for (const key of this.#unconfirmed) this.deleted(key);
    this.flush();
    this.#isAnswered = true;
    this.#answered.resolve();
  }

  failed(error: KubeError | undefined): void {
    this.#trouble = error === undefined ? undefined : problemOf(error, this.#label);
    this.#events.problemsChanged();
  }

  /** Deletes all objects, because the kind is no longer needed. */
  clear(): void {
    for (const key of [...this.#good.keys(), ...this.#problems.keys()]) this.deleted(key);
    this.flush();
  }

  #remove(key: string): void {
    this.#kept.delete(key);
    this.#arrivals.delete(key);
    // An object that was never good is not in the store.
    if (!this.#good.delete(key)) return;
    this.#changes.push(...this.#destination.remove(this.#of.kind, key));
  }

  #note(key: string, problems: readonly SourceProblem[]): void {
    const before = this.#problems.get(key) ?? [];
    // Most changes of an object leave its problems as they were.
    if (sameProblems(before, problems)) return;
    if (problems.length === 0) this.#problems.delete(key);
    else this.#problems.set(key, problems);
    this.#dirty = true;
  }

  #located(severity: SourceProblem['severity'], key: string, raw: RawObject, { field, message, fix }: FieldProblem): SourceProblem {
    const { name, namespace = '', resourceVersion, uid, generation } = raw.metadata;
    const { apiVersion, kind } = this.#of;
    const about = {
      apiVersion,
      kind,
      namespace,
      name,
      uid: typeof uid === 'string' ? uid : '',
      resourceVersion,
      ...(typeof generation === 'number' ? { generation } : {}),
    };
    return { severity, object: this.#nameOf(key), about, field, message, fix };
  }

  get #label(): string {
    return this.#of.label ?? this.#of.kind;
  }

  #nameOf(key: string): string {
    return `${this.#label}/${key}`;
  }
}

/** A problem's object version matters, because the status reports the version that has the problem. */
function sameProblems(a: readonly SourceProblem[], b: readonly SourceProblem[]): boolean {
  const version = ({ severity, about }: SourceProblem): string | undefined => (severity === 'error' ? about?.resourceVersion : about?.uid);
  return sameContent(a, b) && a.every((problem, index) => version(problem) === version(b[index] ?? problem));
}

/** Errors that concern all kinds alike are reported as one problem. */
const ofTheServer: ReadonlySet<KubeErrorCode> = new Set<KubeErrorCode>([
  'unreachable',
  'untrusted',
  'credentials',
  'unauthorized',
  'busy',
  'failing',
  'stalled',
]);

function problemOf({ code, message, fix }: KubeError, object: string): SourceProblem {
  const problem = { severity: 'error', fix } as const;
  if (ofTheServer.has(code)) return { ...problem, message: `the API server cannot be read: ${message}` };
  return { ...problem, object, message: `cannot be read: ${message}` };
}
