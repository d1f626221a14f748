import type { VersionedReference } from '../model/objects/object-event.ts';
import type { Change, Snapshot } from '../model/store/snapshot.ts';

/** Where objects come from: a directory of manifests, or the API server. Both produce the same snapshot and change stream. */
export interface Source {
  /** A live view: complete once `start` has resolved. */
  readonly snapshot: Snapshot;
  /** Resolves when the first full read is in the snapshot. Rejects (SourceError) when there is nothing that could be read. */
  start(signal?: AbortSignal): Promise<void>;
  /** What `start` waits for that somebody has to make, in a few words. Undefined: nothing, or answers of where the objects come from. */
  missingPrerequisite?(): string | undefined;
  /** Called after the snapshot has taken the changes, once a batch, never with an empty one. The result ends it. */
  onChange(listener: (changes: readonly Change[]) => void): () => void;
  /** Called with all problems whenever they have changed. The result ends it. */
  onProblem(listener: (problems: readonly SourceProblem[]) => void): () => void;
  /** What is wrong at present, in order of file and line. */
  problems(): readonly SourceProblem[];
  /** Listeners are not called afterwards; the snapshot stays as it is. */
  close(): Promise<void>;
}

export interface SourceProblem {
  readonly severity: 'error' | 'warning';
  /** Relative to the directory. */
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  readonly column?: number;
  /** "IPAddressPool/main", "Service/default/web". */
  readonly object?: string;
  /** The same as the API server has it, in the version that has the problem. */
  readonly about?: VersionedReference;
  /** "spec.ports[0].port". */
  readonly field?: string;
  readonly message: string;
  readonly fix: string;
}

/** One line for people: "pools.yaml:7:5: IPAddressPool/main: spec.autoAssign: must be true or false (...)". */
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
