import { parseAnyObject, type ReadingMode } from '../../model/metallb/read.ts';
import { expandList, type FieldProblem } from '../../model/parse.ts';
import { identityText, type ObjectIdentity } from '../../model/reading/result.ts';
import type { HeraldObject } from '../../model/store/snapshot.ts';
import type { SourceProblem } from '../source.ts';
import type { Position } from './decode/decoded-document.ts';
import { decodeDocuments } from './decode/documents.ts';

/** One object of a file: its identity and its parsed form. */
interface Entry {
  readonly identity: ObjectIdentity;
  /** Returns the object as written. */
  readonly raw: () => unknown;
  /** False when the object is broken; an earlier version then stays in force. */
  readonly usable: boolean;
  readonly objects: readonly HeraldObject[];
  readonly at: Position;
}

/** The content of one file. */
export interface Manifests {
  /** Why the file has no documents. Undefined when it has. */
  readonly empty: 'blank' | 'comments' | undefined;
  readonly entries: readonly Entry[];
  readonly problems: readonly SourceProblem[];
  /** A broken document does not reveal its object: any earlier object that is now missing may be it. */
  readonly unidentified: boolean;
  /** Objects of kinds that Herald does not read. */
  readonly ignored: number;
}

/** Reads the objects of a file. `role`: only agents' files contain NodeStates, and nothing else. Pure; never throws. */
export function readManifests(
  file: string,
  role: 'manifest' | 'nodeState',
  { text, version }: { readonly text: string; readonly version: string },
  mode: ReadingMode,
): Manifests {
  const entries: Entry[] = [];
  const problems: SourceProblem[] = [];
  let unidentified = false;
  let ignored = 0;
  const documents = decodeDocuments(text, file.endsWith('.json'));
  const empty = documents.length > 0 ? undefined : text.trim() === '' ? 'blank' : 'comments';
  for (const document of documents) {
    for (const error of document.errors) {
      problems.push({ severity: 'error', file, line: error.line, column: error.column, message: error.message, fix: '' });
    }
    for (const { raw, path } of expandList(document.raw)) {
      const broken = document.errors.length > 0;
      const result = parseAnyObject(raw, mode, { resourceVersion: version });
      if (result.ignored) ignored++;
      if (result.identity === undefined) unidentified ||= broken || result.problems.length > 0;
      else if ((result.identity.kind === 'NodeState') !== (role === 'nodeState')) {
        problems.push({ ...misplaced[role], severity: 'error', file, ...document.locate(path), object: identityText(result.identity) });
        continue;
      } else {
        const objects = result.object === undefined || broken ? [] : [result.object, ...result.companions];
        const usable = !broken && (result.object !== undefined || result.problems.length === 0);
        entries.push({
          identity: result.identity,
          raw: path.length === 0 ? document.again : () => raw,
          usable,
          objects,
          at: document.locate(path),
        });
      }
      // Further errors would hide the broken syntax that caused them.
      if (broken) continue;
      const about = { file, ...(result.identity === undefined ? {} : { object: identityText(result.identity) }) };
      const located = (severity: SourceProblem['severity'], { path: field, ...problem }: FieldProblem): SourceProblem => {
        const { line, column } = document.locate([...path, ...field]);
        return { severity, ...about, line, column, field: problem.field, message: problem.message, fix: problem.fix };
      };
      for (const problem of result.problems) problems.push(located('error', problem));
      for (const warning of result.warnings) problems.push(located('warning', warning));
    }
  }
  return { empty, entries, problems, unidentified, ignored };
}

const misplaced = {
  manifest: { message: 'is what an agent reports, and is read only from .herald/nodes', fix: 'remove the object' },
  nodeState: { message: 'is no NodeState, and only those are read from .herald/nodes', fix: 'move the object out of .herald' },
} as const;
