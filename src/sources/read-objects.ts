import { clusterConfig } from '../model/kinds/default-config.ts';
import { MergedObjects } from '../model/metallb/merge.ts';
import { readingModeOf, parseAnyObject } from '../model/metallb/read.ts';
import type { ParseOptions, ParseResult } from '../model/parse.ts';
import { identityText } from '../model/parse/result.ts';
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
 * a problem and not in the snapshot.
 */
export function readObjects(entries: readonly RawEntry[]): ReadObjects {
  const store = new Store(clusterConfig);
  const objects = new MergedObjects(store);
  const plain = readingModeOf(undefined);
  const configs = entries.flatMap(({ raw }) => (kindOf(raw) === 'HeraldConfig' ? [parseAnyObject(raw, plain).object] : []));
  const config = configs.findLast((object) => object?.kind === 'HeraldConfig');
  const mode = readingModeOf(config);
  const problems: SourceProblem[] = [];
  for (const entry of entries) {
    const result = parseAnyObject(entry.raw, mode, optionsFor(entry));
    problems.push(...problemsOf(result, entry.where));
    for (const object of result.object === undefined ? [] : [result.object, ...result.companions]) objects.upsert(object);
  }
  return { snapshot: store, problems: [...problems, ...shadowProblems(objects)] };
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
