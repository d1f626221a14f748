import { watch, type FSWatcher } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../limits.ts';
import { mayHoldFiles, roleOf } from '../layout.ts';

/**
 * Watches a directory and its subfolders, one inotify watch each. Reports paths relative to the root that may have changed, sometimes more
 * often than they did; a folder's path ends in "/". A folder is watched before it is listed, so that nothing is missed in between. Symbolic
 * links to folders are not followed.
 */
export class FolderWatch {
  readonly #root: string;
  readonly #onPath: (path: string) => void;
  readonly #onError: (error: unknown) => void;
  readonly #folders = new Map<string, FSWatcher>();
  readonly #unreadable = new Map<string, string>();
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(root: string, onPath: (path: string) => void, onError: (error: unknown) => void) {
    this.#root = root;
    this.#onPath = onPath;
    this.#onError = onError;
  }

  /** Resolves when every folder is watched and every file was reported. */
  start(): Promise<void> {
    return this.#next(() => this.#enter(''));
  }

  /** Lists every file and watches new folders whose events were lost: the kernel's queue is bounded. */
  rescan(onFile: (path: string) => void): Promise<void> {
    return this.#next(() => this.#list('', onFile));
  }

  /** Resolves when the folders whose events have come are listed: until then a folder that moved is half there. */
  listed(): Promise<void> {
    return this.#work;
  }

  /** Folders that could not be listed at the last attempt, with the error code. "" is the directory itself. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#unreadable;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
    await this.#work;
  }

  /** Folders are processed one after the other, in the order of their events. */
  #next(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(() => (this.#closed ? undefined : work())).catch(this.#onError);
    return this.#work;
  }

  #onEvent(folder: string, event: string, name: string | null): void {
    if (this.#closed) return;
    // Without a name, or when a mounted ConfigMap swaps its "..data", any file of the folder may differ.
    if (name === null || name.startsWith('..')) return void this.#next(() => this.#list(folder, this.#onPath));
    const path = folder === '' ? name : `${folder}/${name}`;
    if (roleOf(path) !== undefined) this.#onPath(path);
    else if (event === 'rename' && mayHoldFiles(path)) void this.#next(() => this.#lookAtFolder(path));
  }

  /** A folder appeared, vanished or was replaced under the same name, so the old watch is useless. */
  async #lookAtFolder(path: string): Promise<void> {
    const found = await lstat(join(this.#root, path)).catch(() => undefined);
    this.#leave(path);
    if (found?.isDirectory() === true) await this.#enter(path);
  }

  #leave(folder: string): void {
    for (const path of new Set([...this.#folders.keys(), ...this.#unreadable.keys()])) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      this.#folders.get(path)?.close();
      this.#folders.delete(path);
      this.#unreadable.delete(path);
      this.#onPath(`${path}/`);
    }
  }

  async #enter(folder: string): Promise<void> {
    if (this.#closed || folder.split('/').length > limits.depth) return;
    try {
      const watcher = watch(join(this.#root, folder), (event, name) => this.#onEvent(folder, event, name));
      watcher.on('error', this.#onError);
      this.#folders.set(folder, watcher);
    } catch (error) {
      // ENOSPC: no inotify watches are left; the folder is read, and a rescan finds changes. EACCES: the folder cannot be listed either.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'EACCES') this.#onError(error);
    }
    await this.#list(folder, this.#onPath);
  }

  async #list(folder: string, onFile: (path: string) => void): Promise<void> {
    const entries = await readdir(join(this.#root, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => error);
    const problem = entries instanceof Error && entries.code !== 'ENOENT' ? (entries.code ?? 'unknown error') : undefined;
    if (problem !== this.#unreadable.get(folder)) onFile(`${folder}/`);
    if (problem === undefined) this.#unreadable.delete(folder);
    else this.#unreadable.set(folder, problem);
    if (entries instanceof Error) return;
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (!entry.isDirectory()) {
        if (roleOf(path) !== undefined) onFile(path);
      } else if (mayHoldFiles(path)) {
        if (this.#folders.has(path)) await this.#list(path, onFile);
        else await this.#enter(path);
      }
    }
  }
}
