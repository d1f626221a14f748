import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';
import { applied, type Mutant } from './mutants.ts';

/** killed: a test fails. types: only the compiler rejects it. timeout: the tests no longer end. untested: no unit test loads the file. */
export type Verdict = 'killed' | 'types' | 'timeout' | 'survived' | 'untested';

const root = join(import.meta.dirname, '../..');
const bin = join(root, 'node_modules/.bin');
/** Numbers of test files that run at once. The nearest tests kill most mutants, so the others run only for the rest. */
const steps = [8, 60, Infinity];
/** Milliseconds after which tests no longer end: at least, and for each test file. */
const patience = { least: 120_000, perFile: 10_000 };

/** Tries mutants one after the other. */
export class Trial {
  readonly #related: (file: string) => readonly string[];
  readonly #nearest: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'herald-mutants-'));
  /** Test files that pass without a mutant. */
  readonly #sound = new Set<string>();

  /** `nearest`: how many test files may run for a mutant. */
  constructor(related: (file: string) => readonly string[], nearest: number) {
    this.#related = related;
    this.#nearest = nearest;
    for (const name of ['src', 'providers', 'package.json', 'tsconfig.json', 'tsconfig.build.json'])
      cpSync(join(root, name), join(this.#folder, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  async verdict(mutant: Mutant): Promise<Verdict> {
    const tests = this.#related(mutant.file).slice(0, this.#nearest);
    if (tests.length === 0) return 'untested';
    for (let [from, step] = [0, 0]; from < tests.length; step++) {
      const files = tests.slice(from, from + (steps[step] ?? Infinity));
      from += files.length;
      const failed = await this.#failed(files, mutant);
      if (failed === 'timeout') {
        await this.#pass(files);
        return 'timeout';
      }
      if (failed.length === 0) continue;
      await this.#pass(failed);
      return 'killed';
    }
    return this.#compiles(mutant) ? 'survived' : 'types';
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  /** Throws when one of the test files fails or does not end without a mutant, too. On a busy machine a slow test is no answer. */
  async #pass(files: readonly string[]): Promise<void> {
    const unknown = files.filter((file) => !this.#sound.has(file));
    if (unknown.length === 0) return;
    const failed = await this.#failed(unknown, undefined);
    if (failed === 'timeout') throw new Error(`tests do not end in time without a mutant: ${unknown.join(' ')}; is the machine busy?`);
    if (failed.length > 0) throw new Error(`tests fail without a mutant: ${unknown.join(' ')}`);
    for (const file of unknown) this.#sound.add(file);
  }

  /** Resolves to the test files that fail. Vitest ends at the first failure. */
  async #failed(files: readonly string[], mutant: Mutant | undefined): Promise<readonly string[] | 'timeout'> {
    const report = join(this.#folder, 'report.json');
    rmSync(report, { force: true });
    const end = await run([...files, `--outputFile=${report}`], mutant, patience.least + files.length * patience.perFile);
    if (end === 'timeout') return 'timeout';
    if (end === 0) return [];
    // Without a report, the mutant has ended vitest itself.
    if (!existsSync(report)) return files;
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as { testResults: { name: string; status: string }[] };
    const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative(root, name));
    return failed.length === 0 ? files : failed;
  }

  #compiles(mutant: Mutant): boolean {
    const path = join(this.#folder, mutant.file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, applied(source, mutant));
    const { status } = spawnSync(process.execPath, [join(bin, 'tsc'), '-p', 'tsconfig.build.json', '--noEmit'], { cwd: this.#folder });
    writeFileSync(path, source);
    return status === 0;
  }
}

async function run(args: readonly string[], mutant: Mutant | undefined, limit: number): Promise<number | 'timeout'> {
  // With this Node: the machine's own may be too old for the tests, and every mutant would count as killed or stop the run.
  const argv = [join(bin, 'vitest'), 'run', '--config', join(import.meta.dirname, 'vitest.config.ts'), ...args];
  const env = { ...process.env, ...(mutant === undefined ? {} : { HERALD_MUTANT: JSON.stringify(mutant) }) };
  // It leads a group of its own, so that its workers end with it.
  const child = spawn(process.execPath, argv, { cwd: root, env, stdio: 'ignore', detached: true });
  const exit = once(child, 'exit') as Promise<[number | null]>;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limit);
  const [status] = await exit;
  clearTimeout(timer);
  return isLate ? 'timeout' : (status ?? 1);
}
