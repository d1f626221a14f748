import { join } from 'node:path';
import { stringify } from 'yaml';
import { isRecord } from '../../../lang/is-record.ts';
import type { Log } from '../../../system/log.ts';
import { removeFile, replaceFile } from '../atomic-file.ts';
import type { DirectorySource } from '../directory-source.ts';
import { lastGoodFileOf, roleOf } from '../layout.ts';
import { limits } from '../limits.ts';

/**
 * Records the last good version of the objects of each broken file in DIR/.herald/last-good, so that a process that starts with the broken
 * file, and a command that reads it, have what is in force. A record has the path of its file, and is removed when the file is good again
 * or deleted. Only the controller writes records.
 */
export class LastGoodRecorder {
  readonly #root: string;
  readonly #source: Pick<DirectorySource, 'keptManifests' | 'recordedFiles' | 'onProblem'>;
  readonly #log: Log;
  /** The recorded text by file. Undefined: written by an earlier process. */
  readonly #written = new Map<string, string | undefined>();
  #unsubscribe: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(
    root: string,
    { source, log }: { readonly source: Pick<DirectorySource, 'keptManifests' | 'recordedFiles' | 'onProblem'>; readonly log: Log },
  ) {
    this.#root = root;
    this.#source = source;
    this.#log = log;
  }

  /** Follows a source that has read the directory. An earlier version never comes or goes without a change of problems. */
  start(): void {
    for (const file of this.#source.recordedFiles()) this.#written.set(file, undefined);
    this.#unsubscribe = this.#source.onProblem(() => this.#update());
    this.#update();
  }

  /** Resolves when everything is written. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#work;
  }

  #update(): void {
    const kept = this.#source.keptManifests();
    this.#work = this.#work.then(() => this.#write(kept));
  }

  async #write(kept: ReadonlyMap<string, readonly unknown[]>): Promise<void> {
    const wanted = [...kept].filter(([file, objects]) => roleOf(file)?.kind === 'manifest' && objects.length > 0);
    const recorded = wanted.slice(0, limits.lastGoodFiles);
    // A broken file without a version in force keeps its record, which may be unreadable only for the moment.
    const gone = [...this.#written.keys()].filter((file) => !kept.has(file));
    for (const file of gone) await this.#try(file, () => removeFile(join(this.#root, lastGoodFileOf(file))), undefined);
    for (const [file, objects] of recorded) {
      const text = textOf(file, objects);
      if (this.#written.get(file) === text) continue;
      const mode = objects.some(isSecret) ? 0o600 : 0o644;
      await this.#try(file, () => replaceFile(join(this.#root, lastGoodFileOf(file)), text, mode), text);
    }
  }

  async #try(file: string, work: () => Promise<void>, text: string | undefined): Promise<void> {
    try {
      await work();
      if (text === undefined) this.#written.delete(file);
      else this.#written.set(file, text);
    } catch (error) {
      this.#log.error({ file, problem: String(error) }, 'the last good version of a broken file cannot be recorded');
    }
  }
}

function textOf(file: string, objects: readonly unknown[]): string {
  if (file.endsWith('.json')) return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, undefined, 2)}\n`;
  return objects.map((object) => stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n');
}

function isSecret(object: unknown): boolean {
  return isRecord(object) && object['kind'] === 'Secret';
}
