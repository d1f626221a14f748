import type { VersionedReference } from '../model/objects/object-event.ts';
import type { Change, Snapshot } from '../model/store/snapshot.ts';

/** A source of objects: a directory of manifests or the API server. Both produce the same snapshot and change stream. */
export interface Source {
  /** A live view, complete once `start` has resolved. */
  readonly snapshot: Snapshot;
  /** Resolves when the first full read is in the snapshot. Rejects with SourceError when nothing could be read. */
  start(signal?: AbortSignal): Promise<void>;
  /** The object that `start` waits for and that a user must create, in a few words. Undefined when none is missing. */
  missingPrerequisite?(): string | undefined;
  /** Calls the listener after the snapshot took the changes, once a batch, never with an empty one. The result unsubscribes. */
  onChange(listener: (changes: readonly Change[]) => void): () => void;
  /** Calls the listener with all problems when they change. The result unsubscribes. */
  onProblem(listener: (problems: readonly SourceProblem[]) => void): () => void;
  /** Returns the present problems, ordered by file and line. */
  problems(): readonly SourceProblem[];
  /** Returns the objects of which an earlier version is in force, because the present one cannot be used. */
  kept(): readonly KeptObject[];
  /** Stops the calls to listeners. The snapshot stays as it is. */
  close(): Promise<void>;
}

export interface SourceProblem {
  readonly severity: 'error' | 'warning';
  /** Relative to the directory. */
  readonly file?: string;
  /** Starts at 1. */
  readonly line?: number;
  readonly column?: number;
  /** "IPAddressPool/main", "Service/default/web". */
  readonly object?: string;
  /** The same object at the API server, in the version that has the problem. */
  readonly about?: VersionedReference;
  /** "spec.ports[0].port". */
  readonly field?: string;
  readonly message: string;
  readonly fix: string;
  /** Objects whose last good version stays in force because of this problem, as `object` names them. Absent: none, or it is not known. */
  readonly keeps?: readonly string[];
}

/** An object whose present version cannot be used, or a deleted HeraldConfig, so that an earlier version stays in force. */
export interface KeptObject {
  /** As problems name it. */
  readonly object: string;
  /** The first error of the present version. */
  readonly problem: SourceProblem;
  /** When the present version was first refused, in milliseconds since the epoch. */
  readonly since: number;
  /** The version in force, as it was written, without passwords. Absent: it is not kept as written. */
  readonly inForce?: unknown;
}

/** Formats a problem as one line: "pools.yaml:7:5: IPAddressPool/main: spec.autoAssign: must be true or false (...)". */
export function problemText({ file, line, column, object, field, message, fix, keeps = [] }: SourceProblem): string {
  const where = [file, line, column].filter((part) => part !== undefined).join(':');
  const parts = [where, object, field, message].filter((part) => part !== undefined && part !== '');
  const text = `${parts.join(': ')}${fix === '' ? '' : ` (${fix})`}`;
  return keeps.length === 0 ? text : `${text}; ${keptText(keeps.filter((kept) => kept !== object))}`;
}

/** `others`: without the object that the problem names itself. */
function keptText(others: readonly string[]): string {
  if (others.length === 0) return 'its last good version stays in force';
  const [named, more] = [others.slice(0, namedAtMost), others.length - namedAtMost];
  return `the last good version of ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''} stays in force`;
}

const namedAtMost = 3;

export class SourceError extends Error {
  readonly code: 'unreadable' | 'invalidName' | 'notWritten';

  constructor(code: SourceError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
    this.code = code;
  }
}
