import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { HeraldObject, Change, Snapshot } from '../../model/store/snapshot.ts';
import { MergedObjects, sourceKey } from '../../model/metallb/merge.ts';
import { identityText } from '../../model/reading/result.ts';
import { readingModeOf, readsMetalLB, sameReadingMode, type ReadingMode } from '../../model/metallb/read.ts';
import { Store } from '../../model/store/store.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { TimeSlice } from '../../system/time-slice.ts';
import { shadowProblems } from '../shadow-problems.ts';
import { withoutPasswords } from '../without-passwords.ts';
import { defined } from '../../lang/defined.ts';
import { SourceError, type KeptObject, type Source, type SourceProblem } from '../source.ts';
import { Subscribers } from '../subscribers.ts';
import { PathBatch } from './watch/path-batch.ts';
import { limits } from './limits.ts';
import { nodeLockOf, roleOf } from './layout.ts';
import { holderHasEnded } from './lock.ts';
import { compareProblems, ManifestSet } from './manifest-set.ts';
import { readManifests } from './manifests.ts';
import { readBounded, type FileContent } from './read-file.ts';
import { RecordSet } from './record-set.ts';
import { PoolsInForce } from './records/pools-in-force.ts';
import { FolderWatch } from './watch/folder-watch.ts';

interface DirectorySourceComponents {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reads and watches the objects in a directory: every *.yaml, *.yml and *.json file below it. Also reads Herald's records in .herald/:
 * assigned addresses and the states of nodes. An event only says that a file may have changed: the source then reads the file and compares
 * it with the current objects.
 */
export class DirectorySource implements Source {
  #root: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #store = new Store();
  readonly #objects = new MergedObjects(this.#store);
  readonly #manifests = new ManifestSet();
  readonly #records = new RecordSet(this.#store);
  readonly #poolsInForce = new PoolsInForce();
  /** The objects of each identity as settled, before pools got the time of their record. */
  readonly #settled = new Map<string, readonly HeraldObject[]>();
  readonly #applied = new Map<string, readonly HeraldObject[]>();
  readonly #versions = new Map<string, string>();
  readonly #changes = new Subscribers<readonly Change[]>();
  readonly #problemListeners = new Subscribers<readonly SourceProblem[]>();
  readonly #ignored = new Map<string, number>();
  readonly #batch: PathBatch;
  #watch: FolderWatch | undefined;
  #cancelRescan: Cancel | undefined;
  /** The mode in which all current manifests were read. */
  #mode = readingModeOf(undefined);
  #problems: readonly SourceProblem[] = [];
  /** Objects whose earlier version is in force, with the time of the first refusal. */
  #keptSince: ReadonlyMap<string, number> = new Map();
  /** Manifests that replace objects of the directory in a preview, and the objects that they replace. */
  #overlay: { readonly name: string; readonly text: string; readonly replaced: Set<string> } | undefined;
  /** Problems of the first directory, after replaceBy() read another one: its unreadable folders. */
  #replaced: readonly SourceProblem[] = [];
  #isStarting = true;
  #closed = false;

  constructor(root: string, { clock, log }: DirectorySourceComponents) {
    this.#root = resolve(root);
    this.#clock = clock;
    this.#log = log;
    this.#batch = new PathBatch(
      clock,
      (paths) => this.#processBatch(paths),
      async () => this.#watch?.listed(),
    );
  }

  get snapshot(): Snapshot {
    return this.#store;
  }

  /** Looks which agents have ended without a last report: the processes that wrote the reports were killed. Their reports count no longer. Returns whether that changed. */
  async findEndedAgents(): Promise<boolean> {
    const nodes = [...this.#store.nodeStates.keys()];
    const ended = await inGroups(nodes, limits.reads, (node) => holderHasEnded(join(this.#root, nodeLockOf(node))));
    return this.#store.setEndedAgents(new Set(nodes.filter((_, index) => ended[index]))).length > 0;
  }

  /** The manifests, as written and by file, of objects whose earlier version is in force because the file is broken. */
  keptManifests(): ReadonlyMap<string, readonly unknown[]> {
    return this.#manifests.kept();
  }

  /** The manifest files for which there is a record of a last good version. */
  recordedFiles(): Iterable<string> {
    return this.#manifests.recorded();
  }

  /** The number of objects of kinds that Herald does not read. */
  get ignored(): number {
    return this.#ignored.values().reduce((sum, ofFile) => sum + ofFile, 0);
  }

  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const found = await stat(this.#root).catch((error: unknown) => error as NodeJS.ErrnoException);
    if (found instanceof Error) throw new SourceError('unreadable', `the directory cannot be read: ${found.code ?? ''}`, { cause: found });
    if (!found.isDirectory()) throw new SourceError('unreadable', 'the source is not a directory');
    this.#watch = new FolderWatch(this.#root, (path) => this.#onPathChanged(path), this.#onWatchError);
    await Promise.race([this.#watch.start(), aborted(signal)]);
    if (!this.#closed) await this.#batch.begin();
    this.#isStarting = false;
    if (signal?.aborted === true) await this.close();
    if (!this.#closed) this.#scheduleRescan();
    signal?.throwIfAborted();
  }

  /**
   * Reads another directory once, as if its files replaced those of this directory at one moment. For previews. A broken file in it keeps
   * the last good version of that file, as a broken edit does. Neither directory is watched any more.
   */
  async replaceBy(root: string): Promise<void> {
    await this.#endWatch();
    this.#replaced = unreadableFolders(this.#watch, `${this.#root}/`);
    this.#root = resolve(root);
    const files = new Set(this.#versions.keys());
    this.#watch = new FolderWatch(this.#root, (path) => void files.add(path), this.#onWatchError);
    await this.#watch.start();
    await this.#watch.close();
    // Which pools are in force does not follow from the other directory.
    await this.#processBatch(new Set([...files].filter((path) => roleOf(path)?.kind !== 'poolRecord')));
  }

  /**
   * Reads manifests as if each object in them replaced the object of its name in the directory. For previews. An object with an error
   * replaces nothing. `name` names the manifests in problems, and is no path of a manifest. The directory is not watched any more.
   */
  async overlay(name: string, text: string): Promise<void> {
    await this.#endWatch();
    this.#overlay = { name, text, replaced: new Set() };
    await this.#processBatch(new Set(this.#versions.keys()));
  }

  onChange(listener: (changes: readonly Change[]) => void): () => void {
    return this.#changes.subscribe(listener);
  }

  onProblem(listener: (problems: readonly SourceProblem[]) => void): () => void {
    return this.#problemListeners.subscribe(listener);
  }

  problems(): readonly SourceProblem[] {
    return this.#problems;
  }

  kept(): readonly KeptObject[] {
    return this.#manifests.keptObjects().map(({ object, problem, raw }) => {
      const since = this.#keptSince.get(object) ?? this.#clock.date().getTime();
      return { object, problem, since, ...defined({ inForce: withoutPasswords(raw) }) };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#changes.clear();
    this.#problemListeners.clear();
    await this.#endWatch();
  }

  async #endWatch(): Promise<void> {
    this.#cancelRescan?.();
    this.#batch.close();
    await this.#watch?.close();
  }

  readonly #onWatchError = (error: unknown): void => {
    this.#log.error({ error: String((error as NodeJS.ErrnoException).code ?? error) }, 'the directory cannot be watched');
  };

  /** A path that ends in "/" is a folder: all files in it may have changed, and so may the right to list it. */
  #onPathChanged(path: string): void {
    this.#batch.add(path);
    if (!path.endsWith('/')) return;
    for (const file of this.#versions.keys()) if (file.startsWith(path)) this.#batch.add(file);
  }

  async #processBatch(paths: ReadonlySet<string>): Promise<void> {
    const affected = new Set<string>();
    const changes: Change[] = [];
    await this.#readFiles(paths, affected, changes);
    // The manifest HeraldConfig decides how all others are read. Listeners get the changes only when all were read in one mode.
    for (let mode = this.#nextMode(); !this.#closed && !sameReadingMode(mode, this.#mode); mode = this.#nextMode()) {
      this.#mode = mode;
      for (const id of this.#applied.keys()) affected.add(id);
      await this.#readFiles(this.#versions.keys(), affected, changes);
    }
    if (this.#closed) return;
    // Objects are applied only after all files were read. Otherwise an object that moves between files would be deleted for a moment.
    const slice = new TimeSlice(this.#clock);
    for (const id of affected) {
      // Later, programs follow the snapshot and may not see half of a batch.
      if (this.#isStarting && slice.isUsedUp) await slice.yield();
      changes.push(...this.#apply(id));
    }
    this.#notify(changes);
  }

  #nextMode(): ReadingMode {
    const config = this.#manifests.settle('HeraldConfig/default').find((object) => object.kind === 'HeraldConfig');
    return readingModeOf(config);
  }

  async #readFiles(paths: Iterable<string>, affected: Set<string>, changes: Change[]): Promise<void> {
    // Recorded versions come first: a broken file needs them.
    const key = (path: string): string => `${roleOf(path)?.kind === 'lastGood' ? 0 : 1} ${path}`;
    const files = [...paths].filter((path) => roleOf(path) !== undefined).toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
    const contents: (FileContent | undefined)[] = await inGroups(files, limits.reads, (path) => readBounded(join(this.#root, path)));
    if (this.#closed) return;
    for (const id of this.#readOverlay()) affected.add(id);
    const slice = new TimeSlice(this.#clock);
    const records: (() => readonly Change[])[] = [];
    for (const [index, path] of files.entries()) {
      if (slice.isUsedUp) await slice.yield();
      if (this.#closed) return;
      const content = contents[index];
      if (content === undefined) continue;
      // Not to hold the text longer than needed.
      contents[index] = undefined;
      if (content.kind === 'gone') this.#versions.delete(path);
      else this.#versions.set(path, content.version);
      const role = roleOf(path);
      if (role?.kind === 'record') records.push(() => this.#records.update(path, role, content));
      else if (role?.kind === 'poolRecord') this.#readPoolRecord(role.name, content, affected);
      else if (role?.kind === 'lastGood') this.#recall(role.of, content);
      else if (role !== undefined) for (const id of this.#readFile(path, role.kind, content)) affected.add(id);
    }
    // Records change the snapshot, which no listener may see half changed.
    for (const update of records) changes.push(...update());
  }

  #readPoolRecord(pool: string, content: FileContent, affected: Set<string>): void {
    const id = `IPAddressPool/${pool}`;
    if (!this.#poolsInForce.update(pool, content)) return;
    this.#settled.delete(id);
    affected.add(id);
  }

  /** A record that cannot be read counts as none. */
  #recall(manifest: string, content: FileContent): void {
    const recorded = content.kind === 'text' ? readManifests(manifest, 'manifest', content, this.#mode) : undefined;
    if (this.#manifests.recall(manifest, recorded)) this.#batch.add(manifest);
  }

  #readFile(path: string, role: 'manifest' | 'nodeState', content: FileContent): Iterable<string> {
    if (content.kind === 'unreadable') {
      return this.#manifests.keep(path, {
        severity: 'error',
        file: path,
        message: content.message,
        fix: 'make it readable; until then its last version stays in force',
      });
    }
    if (content.kind === 'gone') {
      this.#ignored.delete(path);
      return this.#manifests.update(path, undefined);
    }
    const manifests = readManifests(path, role, content, this.#mode);
    if (manifests.ignored > 0) this.#ignored.set(path, manifests.ignored);
    else this.#ignored.delete(path);
    const { entries } = manifests;
    const left = entries.filter(({ identity }) => this.#overlay?.replaced.has(identityText(identity)) !== true);
    return this.#manifests.update(path, left.length === entries.length ? manifests : { ...manifests, entries: left });
  }

  #readOverlay(): Iterable<string> {
    if (this.#overlay === undefined) return [];
    const { name, text, replaced } = this.#overlay;
    const manifests = readManifests(name, 'manifest', { text, version: '0' }, this.#mode);
    const entries = manifests.entries.filter(({ usable }) => usable);
    for (const { identity } of entries) replaced.add(identityText(identity));
    return this.#manifests.update(name, { ...manifests, entries });
  }

  #apply(id: string): Change[] {
    const before = this.#applied.get(id) ?? [];
    const settled = this.#manifests.settle(id);
    // A broken file keeps its last good version, unless HeraldConfig no longer allows MetalLB's objects.
    const foreign = !readsMetalLB(this.#mode) && settled.some(({ metadata }) => metadata.origin !== undefined);
    const chosen = foreign ? [] : settled;
    if (chosen === this.#settled.get(id) || (chosen.length === 0 && before.length === 0)) return [];
    const after = chosen.map((object) => this.#poolsInForce.dated(object));
    if (after.length === 0) {
      this.#applied.delete(id);
      this.#settled.delete(id);
    } else {
      this.#applied.set(id, after);
      this.#settled.set(id, chosen);
    }
    const kept = new Set(after.map(sourceKey));
    const removed = before.filter((object) => !kept.has(sourceKey(object)));
    return [
      ...removed.flatMap((object) => this.#objects.remove(object.kind, sourceKey(object))),
      ...after.flatMap((object) => this.#objects.upsert(object)),
    ];
  }

  #notify(changes: readonly Change[]): void {
    const now = this.#clock.date().getTime();
    this.#keptSince = new Map(this.#manifests.keptObjects().map(({ object }) => [object, this.#keptSince.get(object) ?? now]));
    const problems = [
      ...this.#replaced,
      ...unreadableFolders(this.#watch),
      ...this.#manifests.problems(),
      ...this.#records.problems(),
      ...shadowProblems(this.#objects),
    ].sort(compareProblems);
    const same = problems.length === this.#problems.length && JSON.stringify(problems) === JSON.stringify(this.#problems);
    if (!same) {
      this.#problems = problems;
      this.#problemListeners.notify(problems);
    }
    if (changes.length > 0) this.#changes.notify(changes);
  }

  /** The kernel's event queue is bounded, so a rescan finds files whose events were dropped. */
  #scheduleRescan(): void {
    this.#cancelRescan = this.#clock.after(limits.rescanMilliseconds, () => {
      void this.#rescan().then(() => (this.#closed ? undefined : this.#scheduleRescan()));
    });
  }

  async #rescan(): Promise<void> {
    const files = new Set(this.#versions.keys());
    await this.#watch?.rescan((path) => void files.add(path));
    const paths = [...files];
    const versions = await inGroups(paths, limits.reads, (path) =>
      stat(join(this.#root, path), { bigint: true }).then(
        ({ mtimeNs }) => mtimeNs.toString(),
        () => undefined,
      ),
    );
    for (const [index, path] of paths.entries()) if (versions[index] !== this.#versions.get(path)) this.#batch.add(path);
  }
}

/** Reports folders that could not be listed, so their content is unknown. `prefix` is put before their paths. */
function unreadableFolders(watch: FolderWatch | undefined, prefix = ''): SourceProblem[] {
  return [...(watch?.unreadable ?? [])].map(([folder, code]) => ({
    severity: 'error',
    file: `${prefix}${folder === '' ? '.' : folder}`,
    message: `cannot be read: ${code}`,
    fix: 'let this user list the folder: its content is unknown',
  }));
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function inGroups<T>(paths: readonly string[], size: number, work: (path: string) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let start = 0; start < paths.length; start += size) {
    results.push(...(await Promise.all(paths.slice(start, start + size).map(work))));
  }
  return results;
}
