import { identityText, type ObjectIdentity } from '../../model/reading/result.ts';
import type { HeraldObject } from '../../model/store/snapshot.ts';
import type { SourceProblem } from '../source.ts';
import type { Position } from './decode/decoded-document.ts';
import { limits } from './limits.ts';
import type { Manifests } from './manifests.ts';

interface Held {
  readonly identity: ObjectIdentity;
  /** Returns the version that `objects` were read from, as written. */
  readonly raw: () => unknown;
  /** Empty when there was never a good version. */
  readonly objects: readonly HeraldObject[];
  readonly good: boolean;
  readonly at: Position;
}

/**
 * The manifests of all files: decides which file an object comes from and which version of it is in force. An object in several files stays
 * with the file that had it first; at a start, with the first file by path. After an edit that breaks an object its last good version
 * stays, and an emptied file keeps its former objects. A process that starts with a broken file takes the versions that an earlier process
 * recorded. Pure state: reads no files.
 */
export class ManifestSet {
  readonly #files = new Map<string, Map<string, Held>>();
  /** Files that contain an object, by object identity. */
  readonly #claims = new Map<string, Set<string>>();
  readonly #contested = new Set<string>();
  /** The file that an object is taken from, and its objects, by identity. */
  readonly #inForce = new Map<string, { readonly file: string; readonly objects: readonly HeraldObject[] }>();
  readonly #problems = new Map<string, readonly SourceProblem[]>();
  /** Recorded last good versions, by file and identity. */
  readonly #recorded = new Map<string, ReadonlyMap<string, Held>>();
  /** Files of which an earlier version is in force: that of the whole file, or that of its broken objects. */
  readonly #broken = new Map<string, 'whole' | 'objects'>();

  /** Takes the last good versions that a process recorded for a file (undefined: none). Returns true when they fill a gap in force. */
  recall(file: string, recorded: Manifests | undefined): boolean {
    if (recorded === undefined) {
      this.#recorded.delete(file);
      return false;
    }
    const held = recorded.entries.flatMap(({ identity, raw, usable, objects, at }): [string, Held][] =>
      usable ? [[identityText(identity), { identity, raw, objects, good: false, at }]] : [],
    );
    this.#recorded.set(file, new Map(held));
    const present = this.#files.get(file);
    return this.#broken.has(file) && held.some(([id]) => (present?.get(id)?.objects.length ?? 0) === 0);
  }

  /** Returns by file the manifests, as written, of objects whose earlier version is in force. */
  kept(): ReadonlyMap<string, readonly unknown[]> {
    const files = [...this.#broken].map(([file, part]): [string, readonly unknown[]] => {
      const held = [...(this.#files.get(file)?.values() ?? [])];
      return [file, held.flatMap(({ raw, good, objects }) => (objects.length > 0 && (part === 'whole' || !good) ? [raw()] : []))];
    });
    return new Map(files);
  }

  /** Returns the objects whose earlier version is in force, with the problem of the present one and the earlier one as written. */
  keptObjects(): { readonly object: string; readonly problem: SourceProblem; readonly raw: unknown }[] {
    return [...this.#broken].flatMap(([file, part]) => {
      const errors = (this.#problems.get(file) ?? []).filter(({ severity }) => severity === 'error');
      return [...(this.#files.get(file) ?? [])].flatMap(([object, { raw, good, objects }]) => {
        const problem = errors.find(({ object: named, keeps }) => named === object || keeps?.includes(object)) ?? errors[0];
        return problem === undefined || objects.length === 0 || (part === 'objects' && good) ? [] : [{ object, problem, raw: raw() }];
      });
    });
  }

  /** Returns the files for which there are recorded versions. */
  recorded(): Iterable<string> {
    return this.#recorded.keys();
  }

  /** Records a file's present content (undefined: deleted). Returns the identities whose objects may differ. */
  update(file: string, manifests: Manifests | undefined): ReadonlySet<string> {
    if (manifests?.empty !== undefined && this.#hasEarlier(file)) return this.#keepEmptied(file);
    const before = this.#files.get(file) ?? new Map<string, Held>();
    const recorded = this.#recorded.get(file) ?? new Map<string, Held>();
    const after = new Map<string, Held>();
    const problems: SourceProblem[] = [...(manifests?.problems ?? []), ...emptyProblem(file, manifests?.empty)];
    for (const { identity, raw, usable, objects, at } of manifests?.entries ?? []) {
      const id = identityText(identity);
      const earlier = after.get(id);
      if (earlier !== undefined) {
        problems.push(problemAt(file, at, id, `is there twice: line ${earlier.at.line} came first and is used`, 'remove one of the two'));
        continue;
      }
      const last = [before.get(id), recorded.get(id)].find((held) => held !== undefined && held.objects.length > 0);
      if (usable) after.set(id, { identity, raw, objects, good: true, at });
      else after.set(id, { identity, raw: last?.raw ?? nothing, objects: last?.objects ?? [], good: false, at });
    }
    if (manifests?.unidentified === true) {
      for (const [id, held] of [...before, ...recorded]) if (!after.has(id)) after.set(id, { ...held, good: false });
    }
    const broken = [...after].filter(([, { good }]) => !good);
    this.#claim(file, before, after);
    if (manifests === undefined) this.#files.delete(file);
    else this.#files.set(file, after);
    if (broken.length > 0 || manifests?.unidentified === true) this.#broken.set(file, 'objects');
    else this.#broken.delete(file);
    if (problems.length === 0) this.#problems.delete(file);
    else this.#problems.set(file, withKept(problems, broken).slice(0, limits.problemsPerFile));
    return new Set([...before.keys(), ...after.keys()]);
  }

  /** Records that a file cannot be read: all its objects stay. Returns the identities whose objects may differ. */
  keep(file: string, problem: SourceProblem): ReadonlySet<string> {
    this.#problems.set(file, [problem]);
    this.#broken.set(file, 'whole');
    const before = this.#files.get(file) ?? new Map<string, Held>();
    const missing = [...(this.#recorded.get(file) ?? [])].filter(([id]) => (before.get(id)?.objects.length ?? 0) === 0);
    // An object that the present process has read without the recorded version was removed from the file.
    if (missing.length === 0 || [...before.values()].some(({ good }) => good)) return new Set();
    const after = new Map([...before, ...missing]);
    this.#claim(file, before, after);
    this.#files.set(file, after);
    return new Set(missing.map(([id]) => id));
  }

  /**
   * Decides which file an object is taken from and returns that file's objects. Callers first read all files that changed together, so that
   * a copy saved beside the original does not take over, whatever its path.
   */
  settle(id: string): readonly HeraldObject[] {
    const last = this.#inForce.get(id);
    const claimants = this.#claimants(id).flatMap((file) => {
      const held = this.#files.get(file)?.get(id);
      return held === undefined ? [] : [{ file, held }];
    });
    const usable = claimants.filter(({ held }) => held.objects.length > 0);
    const chosen = usable.find(({ file }) => file === last?.file) ?? usable[0] ?? this.#adopt(id, claimants, last?.objects ?? []);
    if (chosen === undefined) this.#inForce.delete(id);
    else this.#inForce.set(id, { file: chosen.file, objects: chosen.held.objects });
    return chosen?.held.objects ?? [];
  }

  /** When an object moves to another file and breaks there, its last good version moves along. */
  #adopt(id: string, claimants: readonly { readonly file: string; readonly held: Held }[], objects: readonly HeraldObject[]) {
    const [first] = claimants;
    if (first === undefined || first.held.good || objects.length === 0) return undefined;
    const held = { ...first.held, objects };
    this.#files.get(first.file)?.set(id, held);
    return { file: first.file, held };
  }

  problems(): SourceProblem[] {
    const all = [...this.#problems.values()].flat();
    for (const id of this.#contested) {
      const claimants = this.#claimants(id);
      const inForce = this.#inForce.get(id)?.file;
      const message = inForce === undefined ? `is in ${claimants.join(' and ')}` : `is ignored: ${inForce} has the same object, in force`;
      for (const file of claimants) {
        if (file === (inForce ?? claimants[0])) continue;
        const at = this.#files.get(file)?.get(id)?.at ?? { line: 1, column: 1 };
        all.push(problemAt(file, at, id, message, 'remove one of the two: the next start takes the first by path'));
      }
    }
    return all.sort(compareProblems).slice(0, limits.problems);
  }

  /**
   * Many programs truncate a file before they write it (`kubectl get -o yaml > file`) and may be slow or fail in between. So an empty file
   * does not delete its objects; deleting the file does.
   */
  #keepEmptied(file: string): ReadonlySet<string> {
    // An earlier error still counts, so that an address reserved because of it stays reserved.
    const broken = this.#problems.get(file)?.some((problem) => problem.severity === 'error') ?? false;
    const severity = broken ? 'error' : 'warning';
    const message = 'has become empty: its last version stays in force';
    return this.keep(file, { severity, file, message, fix: 'write its manifests again, or delete the file to remove its objects' });
  }

  #hasEarlier(file: string): boolean {
    return (this.#files.get(file)?.size ?? 0) > 0 || (this.#recorded.get(file)?.size ?? 0) > 0;
  }

  #claimants(id: string): string[] {
    return [...(this.#claims.get(id) ?? [])].sort();
  }

  #claim(file: string, before: ReadonlyMap<string, Held>, after: ReadonlyMap<string, Held>): void {
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const files = this.#claims.get(id) ?? new Set<string>();
      if (after.has(id)) files.add(file);
      else files.delete(file);
      if (files.size === 0) this.#claims.delete(id);
      else this.#claims.set(id, files);
      if (files.size > 1) this.#contested.add(id);
      else this.#contested.delete(id);
    }
  }
}

const nothing = (): undefined => undefined;

export function compareProblems(a: SourceProblem, b: SourceProblem): number {
  const byFile = (a.file ?? '') < (b.file ?? '') ? -1 : Number((a.file ?? '') > (b.file ?? ''));
  return byFile || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** After a restart the former content of an empty file is unknown; a file without a comment was probably meant to hold objects. */
function emptyProblem(file: string, empty: Manifests['empty']): SourceProblem[] {
  if (empty === undefined) return [];
  const fix = 'write its manifests again, or delete the file';
  if (empty === 'blank') return [{ severity: 'error', file, message: 'is empty: nothing is read from it', fix }];
  return [{ severity: 'warning', file, message: 'holds only comments: nothing is read from it', fix }];
}

/** Adds the objects whose last good version stays in force to the problems that broke them: their own first error, or one of the file. */
function withKept(problems: readonly SourceProblem[], broken: readonly (readonly [string, Held])[]): SourceProblem[] {
  const kept = broken.flatMap(([id, { objects }]) => (objects.length > 0 ? [id] : []));
  const errors = problems.filter(({ severity }) => severity === 'error');
  const causes = Map.groupBy(kept, (id) => errors.find(({ object }) => object === id) ?? errors.find(({ object }) => object === undefined));
  return problems.map((problem) => {
    const keeps = causes.get(problem);
    return keeps === undefined ? problem : { ...problem, keeps };
  });
}

function problemAt(file: string, { line, column }: Position, object: string, message: string, fix: string): SourceProblem {
  return { severity: 'error', file, line, column, object, message, fix };
}
