import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingLine } from './output.ts';
import { repeatedly, Shell, type BlockResult } from './shell.ts';
import { stepsOf, type ShellStep } from './steps.ts';

export const root = join(import.meta.dirname, '../..');

/** The environment in which the commands of a page run. */
export interface Bed {
  /** Words before every command line: `ip netns exec NAME`. */
  readonly entrance: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** A directory with further programs for the reader. They come before those of the sources. */
  readonly programs?: string;
  /** True when the reader works in a checkout of Herald. Otherwise the directory is empty. */
  readonly checkout: boolean;
  /** Restores the state that the page begins with. */
  readonly renew?: () => Promise<void>;
  /** Gets the script of each block that had the result of the page. */
  readonly passed?: (script: string) => void;
  /** Removes what the page made outside the directory. The directory still exists then. */
  readonly close?: (directory: string) => Promise<void>;
}

/**
 * Follows a page from top to bottom in a temporary directory. Throws at the first block whose result differs from the page. `prepare`
 * writes the files that the page expects. Resolves to the number of blocks that were run.
 */
export async function follow(
  page: string,
  bed: Bed,
  prepare: (directory: string) => void | Promise<void> = () => undefined,
): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'herald-docs-'));
  if (bed.checkout) linkCheckout(directory);
  await prepare(directory);
  const PATH = [bed.programs, join(root, 'bin'), join(root, 'node_modules/.bin'), process.env['PATH'], '/usr/sbin', '/sbin']
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
      const problem = problemOf(step, await runStep(shell, step));
      if (problem !== undefined) throw new Error(problem);
      bed.passed?.(step.script);
      blocks++;
    }
    return blocks;
  } finally {
    await shell.close();
    await bed.close?.(directory);
    rmSync(directory, { recursive: true, force: true });
  }
}

function runStep(shell: Shell, step: ShellStep): Promise<BlockResult> {
  const { script, output } = step;
  if (step.interrupted)
    return shell.runUntil(script, (printed) => printed !== '' && (output === undefined || missingLine(output, printed) === undefined));
  const once = (): Promise<BlockResult> => shell.run(script);
  return step.eventually ? repeatedly(once, (ended) => problemOf(step, ended) === undefined) : once();
}

function problemOf({ where, script, status, output, interrupted }: ShellStep, ended: BlockResult): string | undefined {
  const transcript = `\n${script}\n--- printed:\n${ended.printed}`;
  // A program may end by the signal, or handle it and exit with 0.
  const wanted = interrupted ? [0, 130] : [status];
  if (!wanted.includes(ended.status)) return `${where}: status ${ended.status} instead of ${wanted.join(' or ')}${transcript}`;
  const missing = output === undefined ? undefined : missingLine(output, ended.printed);
  if (interrupted && ended.printed === '') return `${where}: printed nothing${transcript}`;
  return missing === undefined ? undefined : `${where}: the page shows a line that was not printed: ${missing}${transcript}`;
}

/**
 * Links the repository's files into the directory, so that it looks like a checkout and files that a page adds stay out of the real one.
 */
function linkCheckout(directory: string): void {
  for (const name of readdirSync(root)) if (!name.startsWith('.')) symlinkSync(join(root, name), join(directory, name));
}
