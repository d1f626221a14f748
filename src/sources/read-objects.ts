import { clusterConfig } from '../model/kinds/default-config.ts';
import { MergedObjects } from '../model/metallb/merge.ts';
import { readingModeOf, parseAnyObject, type ReadingMode } from '../model/metallb/read.ts';
import type { ParseOptions, ParseResult } from '../model/parse.ts';
import { identityText } from '../model/reading/result.ts';
import { Store } from '../model/store/store.ts';
import { shadowProblems } from './shadow-problems.ts';
import type { SourceProblem } from './source.ts';

/** An object as written. */
export interface RawEntry {
  readonly raw: unknown;
  /** "pools.yaml:7", for messages. Absent for an object of the API server. */
  readonly where?: string;
}

interface ReadObjects {
  readonly snapshot: Store;
  readonly problems: readonly SourceProblem[];
}

/**
 * Builds a snapshot of objects that were read once, or of proposed ones. Of several objects of one name the last counts. A broken object is
 * a problem. The snapshot has its version in `inForce` if there is one: objects as written, by the names that problems use.
 */
export function readObjects(entries: readonly RawEntry[], inForce: ReadonlyMap<string, unknown> = new Map()): ReadObjects {
  const store = new Store(clusterConfig);
  const objects = new MergedObjects(store);
  const plain = readingModeOf(undefined);
  const configs = entries.flatMap(({ raw }) =>
    kindOf(raw) === 'HeraldConfig' ? [usable(parseAnyObject(raw, plain), plain, inForce).object] : [],
  );
  const config = configs.findLast((object) => object?.kind === 'HeraldConfig');
  const mode = readingModeOf(config);
  const problems: SourceProblem[] = [];
  for (const entry of entries) {
    const result = parseAnyObject(entry.raw, mode, optionsFor(entry));
    const { object, companions } = usable(result, mode, inForce);
    const isKept = result.object === undefined && object !== undefined;
    problems.push(...problemsOf(result, entry.where).map((problem, index) => (isKept && index === 0 ? keeping(problem) : problem)));
    for (const one of object === undefined ? [] : [object, ...companions]) objects.upsert(one);
  }
  return { snapshot: store, problems: [...problems, ...shadowProblems(objects)] };
}

/** Returns the result of the version in force when the present version is broken. */
function usable(result: ParseResult, mode: ReadingMode, inForce: ReadonlyMap<string, unknown>): ParseResult {
  const { object, identity } = result;
  const earlier = object === undefined && identity !== undefined ? inForce.get(identityText(identity)) : undefined;
  return earlier === undefined ? result : parseAnyObject(earlier, mode, { unknownFields: 'warned of' });
}

function keeping(problem: SourceProblem): SourceProblem {
  return { ...problem, ...(problem.object === undefined ? {} : { keeps: [problem.object] }) };
}

/**
 * The API server accepted its objects by a CRD that may be newer than this program, so an unknown field is a warning. In a file it is a
 * mistake.
 */
function optionsFor({ where }: RawEntry): ParseOptions {
  return where === undefined ? { unknownFields: 'warned of' } : { unchosen: 'left open' };
}

function problemsOf({ identity, problems, warnings }: ParseResult, where: string | undefined): SourceProblem[] {
  const [, file, line] = /^(.*):(\d+)$/.exec(where ?? '') ?? [];
  const place = {
    ...(file === undefined ? {} : { file, line: Number(line) }),
    ...(identity === undefined ? {} : { object: identityText(identity) }),
  };
  const told = (severity: SourceProblem['severity'], found: ParseResult['problems']): SourceProblem[] =>
    found.map(({ field, message, fix }) => ({ severity, ...place, field, message, fix }));
  return [...told('error', problems), ...told('warning', warnings)];
}

function kindOf(raw: unknown): unknown {
  return typeof raw === 'object' && raw !== null && 'kind' in raw ? raw.kind : undefined;
}
