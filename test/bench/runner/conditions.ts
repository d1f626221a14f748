import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { version as herald } from '../../../src/model/objects/version.ts';

/** Everything besides the figures that a reader needs to compare two runs. Every bench prints it, in JSON as `conditions`. */
export interface Conditions {
  readonly date: string;
  readonly machine: string;
  readonly commit: string;
  /** The load average of 1, 5 and 15 minutes at the start of the bench and at its end. */
  readonly load: { readonly start: readonly number[]; readonly end: readonly number[] };
  /** Herald's version and those of the programs that took part, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

const startLoad = loads();

/** `peers`: the versions of the other programs that took part. */
export function conditions(peers: Readonly<Record<string, string>>): Conditions {
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} processors ${cpus()[0]?.model ?? ''}, ${Math.round(totalmem() / 1e9)} GB, Linux ${release()}`,
    commit: commit(),
    load: { start: startLoad, end: loads() },
    versions: { Herald: herald, 'Node.js': process.versions.node, ...peers },
  };
}

/** Returns two lines, for people. */
export function conditionLines({ date, machine, commit, load, versions }: Conditions): string {
  const programs = Object.entries(versions).map((words) => words.join(' '));
  return [
    `${date}, commit ${commit}. ${machine}. ${programs.join(', ')}.`,
    `Load average at the start: ${load.start.join(', ')}; at the end: ${load.end.join(', ')}.`,
  ].join('\n');
}

function loads(): number[] {
  return loadavg().map((load) => Number(load.toFixed(2)));
}

function commit(): string {
  try {
    return execFileSync('git', ['-C', import.meta.dirname, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    // The sources are not a checkout.
    return 'unknown';
  }
}
