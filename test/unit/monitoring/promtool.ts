import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const folder = join(import.meta.dirname, '../../../manifests/monitoring');

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleObject {
  readonly spec: { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };
}

const object = parse(readFileSync(join(folder, 'prometheus-rule.yaml'), 'utf8')) as RuleObject;

export const rules = object.spec.groups.flatMap((group) => group.rules);
export const alerts = rules.flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]));

export interface Series {
  /** "herald_leader{job=\"herald-controller\"}" */
  readonly series: string;
  /** In promtool's notation, one value a minute: "1+0x60". */
  readonly values: string;
}

/** The answer of a query at a time, by the labels of each sample. */
export interface Expectation {
  readonly expr: string;
  readonly at: string;
  readonly samples: readonly { readonly labels: string; readonly value: number }[];
}

export interface RuleTest {
  readonly name: string;
  readonly input: readonly Series[];
  readonly expected: readonly Expectation[];
}

/** Runs promtool, which is in Debian's package prometheus: `sh scripts/setup.sh prometheus=promtool`. Throws with its output. */
export function promtool(command: 'check' | 'test', tests: readonly RuleTest[] = []): string {
  const directory = mkdtempSync(join(tmpdir(), 'herald-rules-'));
  try {
    writeFileSync(join(directory, 'rules.yaml'), stringify({ groups: object.spec.groups }));
    writeFileSync(join(directory, 'tests.yaml'), stringify(testFile(tests)));
    return execFileSync('promtool', [command, 'rules', command === 'check' ? 'rules.yaml' : 'tests.yaml'], {
      cwd: directory,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: string; stdout?: string; stderr?: string };
    if (code === 'ENOENT') throw new Error('promtool is missing: sh scripts/setup.sh prometheus=promtool', { cause: error });
    throw new Error(`${stdout}${stderr}`, { cause: error });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function testFile(tests: readonly RuleTest[]): object {
  return {
    rule_files: ['rules.yaml'],
    evaluation_interval: '1m',
    tests: tests.map(({ name, input, expected }) => ({
      name,
      interval: '1m',
      input_series: input,
      promql_expr_test: expected.map(({ expr, at, samples }) => ({ expr, eval_time: at, exp_samples: samples })),
    })),
  };
}
