import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';

const root = join(import.meta.dirname, '../../..');
const files = sourceFiles();

test('the search finds source files', () => {
  expect(files.length).toBeGreaterThan(100);
});

/** A longer file says at its head why it is one. */
const usualLines = 400;
const mostLines = 600;
const whyLong = /^\/\/ Longer than usual: \S/;

test('no file has more than 600 lines, and one with more than 400 says why', () => {
  expect(whyLong.test('// Longer than usual: one state machine.\n') && !whyLong.test('import x;\n// Longer than usual: x\n')).toBe(true);
  const long = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8').trimEnd();
    const lines = text.split('\n').length;
    return lines > mostLines || (lines > usualLines && !whyLong.test(text)) ? [`${file}: ${lines}`] : [];
  });
  expect(long).toEqual([]);
});

interface LintOverride {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

describe('functions have at most five parameters and 60 lines', () => {
  const rules = ['max-params', 'max-lines-per-function'];
  const { overrides } = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8')) as { readonly overrides: readonly LintOverride[] };
  const [general, ofTests, ...exceptions] = overrides.filter((one) => rules.some((rule) => rule in one.rules));
  /** "file rule" to the maximum of the exception. */
  const allowed = new Map(
    exceptions.flatMap((one) => Object.entries(one.rules).map(([rule, setting]) => [`${one.files.join()} ${rule}`, setting] as const)),
  );

  test('the linter has the rules for all source files but tests', () => {
    expect(general).toEqual({
      files: ['src/**', 'providers/**'],
      rules: { 'max-params': ['error', 5], 'max-lines-per-function': ['error', 60] },
    });
    expect(ofTests?.files).toEqual(['src/*/{test,bench}/**', 'providers/*/{test,bench}/**']);
  });

  test('each exception is still needed and no larger than that: the table may only shrink', () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-lint-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const config = join(folder, 'oxlintrc.json');
    writeFileSync(config, JSON.stringify({ plugins: [], categories: { correctness: 'off' }, rules: general?.rules }));
    const lint = join(root, 'node_modules/.bin/oxlint');
    const paths = [...new Set(exceptions.flatMap((one) => one.files))];
    const { stdout } = spawnSync(process.execPath, [lint, '-c', config, '--format=json', ...paths], { cwd: root, encoding: 'utf8' });
    const { diagnostics } = JSON.parse(stdout) as {
      readonly diagnostics: readonly { readonly code: string; readonly filename: string; readonly message: string }[];
    };
    const needed = new Map<string, number>();
    for (const { code, filename, message } of diagnostics) {
      const key = `${filename} ${/\((.+)\)/.exec(code)?.[1]}`;
      needed.set(key, Math.max(needed.get(key) ?? 0, Number(/\((\d+)\)/.exec(message)?.[1])));
    }
    expect(Object.fromEntries(allowed)).toEqual(Object.fromEntries([...needed].map(([key, most]) => [key, ['error', most]])));
  });
});

test('no folder or file has a vague name such as utils or helpers', () => {
  const vague = /(^|\/)(utils?|common|helpers?|misc)(\/|\.ts$)/;
  expect(vague.test('src/utils/x.ts') && vague.test('src/bgp/helpers.ts') && !vague.test('src/net/communities.ts')).toBe(true);
  expect([...files, ...globSync('{test,scripts}/**/*.ts', { cwd: root })].filter((file) => vague.test(file))).toEqual([]);
});
