import { readFileSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Share {
  readonly covered: number;
  readonly all: number;
}

export interface FileCoverage {
  readonly file: string;
  readonly lines: Share;
  /** Blocks that V8 counts separately: sides of conditions, bodies of loops, code after an early return. */
  readonly branches: Share;
  readonly functions: Share;
  /** The lines that were not run, such as "12-14, 20". */
  readonly missing: string;
}

/**
 * Measures which parts of the files below `folder` were run, with V8's counters. Node strips types without moving code, so V8's offsets are
 * those of the source. Only modules loaded after `start` are counted.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#session.connect();
    this.#session.post('Profiler.enable');
  }

  start(): void {
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /**
   * Returns how often bodies of loops and sides of conditions were run since `start` or the last call: a measure of work that does not
   * depend on time. Function calls are not counted, because V8 misses calls that its optimizing compiler inlines. Most calls come from
   * loops, which are counted.
   */
  work(): number {
    return this.#take()
      .flatMap(({ functions }) => functions)
      .flatMap(({ ranges }) => ranges.slice(1))
      .reduce((sum, { count }) => sum + count, 0);
  }

  /** Returns the coverage by file, in alphabetical order, and resets the counters. */
  report(): FileCoverage[] {
    return this.#take()
      .map(({ url, functions }) => reportOf(fileURLToPath(url), functions))
      .toSorted((a, b) => a.file.localeCompare(b.file));
  }

  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  #take(): Profiler.ScriptCoverage[] {
    let result: Profiler.ScriptCoverage[] = [];
    // The inspector of this thread calls back before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      ({ result } = answer);
    });
    return result.filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(this.#folder));
  }
}

export function formatCoverage(files: readonly FileCoverage[]): string {
  const percent = ({ covered, all }: Share): string => (all === 0 ? '-' : `${((100 * covered) / all).toFixed(1)} %`);
  const sum = (pick: (file: FileCoverage) => Share): Share => ({
    covered: files.reduce((total, file) => total + pick(file).covered, 0),
    all: files.reduce((total, file) => total + pick(file).all, 0),
  });
  const row = (name: string, lines: Share, branches: Share, functions: Share, missing: string): string[] => [
    name,
    percent(lines),
    percent(branches),
    percent(functions),
    missing,
  ];
  const rows = [
    ['file', 'lines', 'branches', 'functions', 'lines not run'],
    ...files.map(({ file, lines, branches, functions, missing }) => row(file, lines, branches, functions, missing)),
    row(
      'all',
      sum((file) => file.lines),
      sum((file) => file.branches),
      sum((file) => file.functions),
      '',
    ),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows
    .map((cells) =>
      cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
    )
    .join('\n');
}

function reportOf(path: string, functions: readonly Profiler.FunctionCoverage[]): FileCoverage {
  const text = readFileSync(path, 'utf8');
  // V8 reports the module itself as a function. It is not counted.
  const own = functions.filter(({ ranges: [whole] }) => whole !== undefined && whole.endOffset - whole.startOffset < text.length);
  const blocks = functions.flatMap(({ ranges }) => ranges.slice(1));
  const run = new Uint8Array(text.length).fill(1);
  // Inner ranges come after outer ones and overwrite them.
  for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges))
    run.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const missing: number[] = [];
  let all = 0;
  let offset = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const code = line.trim();
    if (!/^($|\/\/|\/\*|\*|[)}\]]+[;,]?$)/.test(code)) {
      all++;
      const from = offset + line.indexOf(code);
      if (run.subarray(from, from + code.length).every((value) => value === 0)) missing.push(index + 1);
    }
    offset += line.length + 1;
  }
  return {
    file: relative(process.cwd(), path),
    lines: { covered: all - missing.length, all },
    branches: { covered: blocks.filter(({ count }) => count > 0).length, all: blocks.length },
    functions: { covered: own.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length, all: own.length },
    missing: spans(missing),
  };
}

function spans(lines: readonly number[]): string {
  const found: [first: number, last: number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === line - 1) last[1] = line;
    else found.push([line, line]);
  }
  return found.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ');
}
