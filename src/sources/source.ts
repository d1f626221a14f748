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
}

/** Formats a problem as one line: "pools.yaml:7:5: IPAddressPool/main: spec.autoAssign: must be true or false (...)". */
export function problemText({ file, line, column, object, field, message, fix }: SourceProblem): string {
  const where = [file, line, column].filter((part) => part !== undefined).join(':');
  const parts = [where, object, field, message].filter((part) => part !== undefined && part !== '');
  return `${parts.join(': ')}${fix === '' ? '' : ` (${fix})`}`;
}

export class SourceError extends Error {
  readonly code: 'unreadable' | 'invalidName' | 'notWritten';

  constructor(code: SourceError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
    this.code = code;
  }
}
