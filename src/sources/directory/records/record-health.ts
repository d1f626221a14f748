import type { Log } from '../../../system/log.ts';

/** Explains by error code why the file system refuses records. */
const fixes: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on the file system of the directory',
  EDQUOT: 'raise the disk quota of the user of this process',
  EROFS: 'mount the file system of the directory read-write (after errors the kernel mounts it read-only: see dmesg)',
  EACCES: 'give the user of this process the right to write to the folder .herald',
  EPERM: 'give the user of this process the right to write to the folder .herald',
};

const problems: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

interface Unwritten {
  /** How many records the file system refused at the last attempt. */
  readonly records: number;
  /** The one that has been refused for the longest time. */
  readonly file: string;
  readonly problem: string;
  readonly fix: string;
}

function explained(file: string, code: string): Omit<Unwritten, 'records'> {
  return { file, problem: problems[code] ?? code, fix: fixes[code] ?? 'see the error code' };
}

/**
 * Knows if the file system takes the records of a directory. Logs once when it begins to refuse and once when all is written again. Writers
 * retry, so nothing is lost while it refuses.
 */
export class RecordHealth {
  readonly #log: Log;
  /** The error code of each file whose last write failed. */
  readonly #failing = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Undefined when every record is written, else the problem in a few words. */
  problem(): string | undefined {
    const unwritten = this.unwritten();
    return unwritten && `${unwritten.problem}: ${unwritten.records} records wait to be written, such as ${unwritten.file}`;
  }

  /** Undefined when every record is written. */
  unwritten(): Unwritten | undefined {
    const [first] = this.#failing;
    return first === undefined ? undefined : { records: this.#failing.size, ...explained(...first) };
  }

  get waiting(): number {
    return this.#failing.size;
  }

  failed(file: string, code: string): void {
    const isFirst = this.#failing.size === 0;
    this.#failing.set(file, code);
    if (!isFirst) return;
    this.#log.warn({ code, ...explained(file, code) }, 'records cannot be written; retrying');
  }

  written(file: string): void {
    if (this.#failing.delete(file) && this.#failing.size === 0) this.#log.info({}, 'all records are written again');
  }
}
