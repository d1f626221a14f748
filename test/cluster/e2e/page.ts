import { minors } from '../programs.ts';
import { readResults, resultsFile, setUps, storedResults, type Results, type SetUpName, type TestResult } from './results.ts';
import { expectedFailures, exclusions, isExpectedToFail, type Exclusion } from './selection.ts';

const titles: Readonly<Record<SetUpName, string>> = {
  'in-place': "Herald in kube-proxy's place",
  'beside-nftables': 'beside kube-proxy nftables',
  'beside-iptables': 'beside kube-proxy iptables',
  'kube-proxy': 'kube-proxy alone',
};

const opening = `# Kubernetes' e2e tests

The results of Kubernetes' own end-to-end tests of the network, \`[sig-network]\`, in clusters with real kubelets and containers on one machine
(\`test/cluster/\`): three nodes, or six for tests that need two in a zone, dual stack, FRR as the ToR. \`npm run test:cluster\` runs them, and with
\`--save\` it keeps the results, from which \`npm run generate\` writes this page. With kube-proxy alone, Herald forwards nothing and only gives and announces the addresses of LoadBalancers
(\`services: none\`), as kube-proxy cannot.

`;

/** Writes docs/reference/kubernetes-e2e.md from the stored results. */
export function e2ePage(directory: string = storedResults): string {
  const results = new Map(setUps.map((setUp) => [setUp, readResults(resultsFile(directory, setUp))]));
  const tests = new Map([...results].map(([setUp, stored]) => [setUp, new Map(stored?.tests.map((test) => [test.name, test]))]));
  const names = [...new Set([...tests.values()].flatMap((each) => [...each.keys()]))].toSorted();
  const cell = (setUp: SetUpName, name: string): string => {
    const test = tests.get(setUp)?.get(name);
    return test === undefined ? 'not run' : kindOf(test, setUp);
  };
  const header = `| test | ${setUps.map((setUp) => titles[setUp]).join(' | ')} |\n|---|${setUps.map(() => '---|').join('')}`;
  const rows = names.map((name) => `| ${escaped(name)} | ${setUps.map((setUp) => cell(setUp, name)).join(' | ')} |`);
  return [
    opening,
    summary(results, names),
    shortLists(directory),
    reasons('Failures', 'failed', results),
    reasons('Tests that skip themselves', 'skipped', results),
    listed('Tests that are expected to fail', expectedFailures),
    listed('Tests that do not run', exclusions),
    `## Test by test\n\n${header}\n${rows.join('\n')}\n`,
  ].join('');
}

const kinds = ['passes', '**fails**', 'fails, as expected', 'skips itself'] as const;

/** The word for the result in the table. */
function kindOf({ name, result }: TestResult, setUp: SetUpName): (typeof kinds)[number] {
  if (result === 'failed') return isExpectedToFail(name, setUp) ? 'fails, as expected' : '**fails**';
  return result === 'passed' ? 'passes' : 'skips itself';
}

const counts = (setUp: SetUpName, stored: Results | undefined): readonly number[] =>
  kinds.map((kind) => stored?.tests.filter((test) => kindOf(test, setUp) === kind).length ?? 0);

const countHeader = kinds.join(' | ').replaceAll('*', '');

function summary(results: ReadonlyMap<SetUpName, Results | undefined>, names: readonly string[]): string {
  const rows = [...results].map(([setUp, stored]) => {
    const versions = stored === undefined ? ' | | ' : `${stored.kubernetes.slice(1)} | ${stored.kernel} | ${stored.date}`;
    return `| ${titles[setUp]} | ${versions} | ${counts(setUp, stored).join(' | ')} | ${names.length - (stored?.tests.length ?? 0)} |`;
  });
  return `| set-up | Kubernetes | kernel | last run | ${countHeader} | not run |\n|---|---|---|---|---|---|---|---|---|\n${rows.join('\n')}\n\n`;
}

/** The short list of each minor, where it ran. */
function shortLists(directory: string): string {
  const rows = minors.flatMap((minor) =>
    setUps.flatMap((setUp) => {
      const stored = readResults(resultsFile(directory, setUp, minor));
      if (stored === undefined) return [];
      return [`| ${stored.kubernetes.slice(1)} | ${titles[setUp]} | ${stored.date} | ${counts(setUp, stored).join(' | ')} |`];
    }),
  );
  if (rows.length === 0) return '';
  const opening = '## The short list, by version of Kubernetes\n\n`npm run test:cluster -- --short --minor MINOR`\n\n';
  return `${opening}| Kubernetes | set-up | last run | ${countHeader} |\n|---|---|---|---|---|---|---|\n${rows.join('\n')}\n\n`;
}

function reasons(title: string, result: TestResult['result'], results: ReadonlyMap<SetUpName, Results | undefined>): string {
  const rows = [...results].flatMap(([setUp, stored]) =>
    (stored?.tests ?? [])
      .filter((test) => test.result === result && !(result === 'failed' && isExpectedToFail(test.name, setUp)))
      .map(({ name, reason = '' }) => `| ${escaped(name)} | ${titles[setUp]} | ${escaped(reason)} |`),
  );
  if (rows.length === 0) return '';
  return `## ${title}\n\n| test | set-up | message |\n|---|---|---|\n${rows.toSorted().join('\n')}\n\n`;
}

function listed(title: string, list: readonly Exclusion[]): string {
  const rows = list.map(({ text, reason }) => `| \`${text}\` | ${reason} |`);
  return `## ${title}\n\n| text in the name | reason |\n|---|---|\n${rows.join('\n')}\n\n`;
}

const escaped = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll('<', '&lt;')
    .replaceAll('[', String.raw`\[`);
