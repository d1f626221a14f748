import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Drift, Given, ServiceInput } from './inputs.ts';

/**
 * The table tests of the AWS Load Balancer Controller (LBC) and of the cloud provider AWS (CPA) as data: each case has the input and the
 * result that the other controller expects, in Herald's terms.
 */

/** What a case checks: named parts of an outcome, such as `scheme` or `listeners`. `refused` lists the codes of reasons. */
export type Parts = Readonly<Record<string, unknown>>;

export interface PeerCase {
  /** The name of the case in the table of the other controller. */
  readonly name: string;
  readonly service?: ServiceInput;
  readonly given?: Given;
  /** In a case about changes: the Service before the edit. Default: the same Service. */
  readonly before?: ServiceInput;
  readonly drift?: Drift;
  /** Absent in a case that is out of scope. */
  readonly expect?: Parts;
  /** By key of `differences`: what Herald has instead. Every other part must be as expected. */
  readonly differs?: Readonly<Record<string, Parts>>;
  /** A key of `outOfScope`. */
  readonly outOfScope?: string;
}

export interface PeerTable {
  /** File and test function. */
  readonly source: string;
  /** How the runner gets an outcome from a case. */
  readonly checks: 'desired state' | 'claim' | 'changes';
  /** Settings and objects of all cases of the table. */
  readonly given?: Given;
  readonly cases: readonly PeerCase[];
  /** A key of `outOfScope`: then `count` cases are out of scope, and `cases` is empty. */
  readonly outOfScope?: string;
  readonly count?: number;
}

interface PeerFile {
  readonly repository: string;
  readonly version: string;
  readonly tables: readonly Partial<PeerTable>[];
}

export interface PeerTableOf extends PeerTable {
  readonly file: string;
  readonly repository: string;
  readonly version: string;
}

const folder = join(import.meta.dirname, '../../peer-cases');

export function peerTables(): PeerTableOf[] {
  return globSync('{lbc,cpa}/*.yaml', { cwd: folder })
    .toSorted()
    .flatMap((file) => {
      const { repository, version, tables } = parse(readFileSync(join(folder, file), 'utf8')) as PeerFile;
      return tables.map((table): PeerTableOf => {
        const defaults = { source: '', checks: 'desired state', cases: [] } as const;
        return { file, repository, version, ...defaults, ...table };
      });
    });
}

interface Reasons {
  readonly differences: Readonly<Record<string, string>>;
  readonly outOfScope: Readonly<Record<string, string>>;
}

/** The documented reasons: why Herald differs, and why a case is out of scope. */
export function peerReasons(): Reasons {
  return parse(readFileSync(join(folder, 'reasons.yaml'), 'utf8')) as Reasons;
}
