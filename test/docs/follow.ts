import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingLine } from './output.ts';
import { repeatedly, Shell, type Ended } from './shell.ts';
import { stepsOf, type ShellStep } from './steps.ts';

export const root = join(import.meta.dirname, '../..');

/** Where the commands of a page run. */
export interface Bed {
  /** What stands before every command line: `ip netns exec NAME`. */
  readonly entrance: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** A directory of programs that the reader has, besides those of Herald. */
  readonly programs?: string;
  /** The reader is in a checkout of Herald; otherwise the directory is empty. */
  readonly checkout: boolean;
  /** Brings it back to where the page begins. */
  readonly renew?: () => Promise<void>;
  /** Takes away what the page has made outside of the directory, which is still there. */
  readonly close?: (directory: string) => Promise<void>;
}

/**
 * Does what a page says, from top to bottom, in a directory that goes away, and throws at the first block that does not do what
 * the page says. `prepare` lays out what the page takes to be there. Resolves with how many blocks were run.
 */
export async function follow(page: string, bed: Bed, prepare: (directory: string) => void = () => undefined): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'herald-docs-'));
  if (bed.checkout) linkCheckout(directory);
  prepare(directory);
  const PATH = [join(root, 'bin'), bed.programs, join(root, 'node_modules/.bin'), process.env['PATH'], '/usr/sbin', '/sbin']
    .filter((path) => path !== undefined)
    .join(':');
  const variables = { PATH, HOME: directory, ...bed.variables };
  const shell = new Shell({ directory, entrance: bed.entrance, variables });
  let blocks = 0;
  try {
    for (const step of stepsOf(page, readFileSync(join(root, page), 'utf8'))) {
      if (step.kind === 'file') shell.writeFile(step.name, step.text);
      if (step.kind !== 'shell') continue;
      if (step.instead) await bed.renew?.();
      const problem = problemOf(step, await ranOf(shell, step));
      if (problem !== undefined) throw new Error(problem);
      blocks++;
    }
    return blocks;
  } finally {
    await shell.close();
    await bed.close?.(directory);
    rmSync(directory, { recursive: true, force: true });
  }
}

function ranOf(shell: Shell, step: ShellStep): Promise<Ended> {
  const { script, output } = step;
  if (step.interrupted)
    return shell.runUntil(script, (printed) => printed !== '' && (output === undefined || missingLine(output, printed) === undefined));
  const once = (): Promise<Ended> => shell.run(script);
  return step.eventually ? repeatedly(once, (ended) => problemOf(step, ended) === undefined) : once();
}

function problemOf({ where, script, status, output, interrupted }: ShellStep, ended: Ended): string | undefined {
  const told = `\n${script}\n--- printed:\n${ended.printed}`;
  // A program may end by the signal, or hear it and end well.
  const wanted = interrupted ? [0, 130] : [status];
  if (!wanted.includes(ended.status)) return `${where}: status ${ended.status}, and not ${wanted.join(' or ')}${told}`;
  const missing = output === undefined ? undefined : missingLine(output, ended.printed);
  if (interrupted && ended.printed === '') return `${where}: printed nothing${told}`;
  return missing === undefined ? undefined : `${where}: the page shows a line that was not printed: ${missing}${told}`;
}

/** Looks like a checkout, and what a page writes there stays out of this one. */
function linkCheckout(directory: string): void {
  for (const name of readdirSync(root)) if (!name.startsWith('.')) symlinkSync(join(root, name), join(directory, name));
}
