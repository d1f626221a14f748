import { minors } from '../programs.ts';
import { readResults, resultsFile, setUps, storedResults, type Results, type SetUpName, type TestResult } from './results.ts';
import { exclusions } from './selection.ts';

const titles: Readonly<Record<SetUpName, string>> = {
  'in-place': "Herald in kube-proxy's place",
  'beside-nftables': 'beside kube-proxy nftables',
  'beside-iptables': 'beside kube-proxy iptables',
  'kube-proxy': 'kube-proxy alone',
};

const opening = `# Kubernetes' e2e tests

The results of Kubernetes' own end-to-end tests of the network, \`[sig-network]\`, in clusters with real kubelets and containers on one machine
(\`test/cluster/\`): three nodes, dual stack, FRR as the ToR. \`npm run test:cluster\` runs them, and with \`--save\` it keeps the results, from which
\`npm run generate\` writes this page. With kube-proxy alone, Herald forwards nothing and only gives and announces the addresses of LoadBalancers
(\`services: none\`), as kube-proxy cannot.

`;

const words: Readonly<Record<TestResult['result'], string>> = { passed: 'passes', failed: '**fails**', skipped: 'skips itself' };

/** Writes docs/reference/kubernetes-e2e.md from the stored results. */
export function e2ePage(directory: string = storedResults): string {
  const results = new Map(setUps.map((setUp) => [setUp, readResults(resultsFile(directory, setUp))]));
  const tests = new Map([...results].map(([setUp, stored]) => [setUp, new Map(stored?.tests.map((test) => [test.name, test]))]));
  const names = [...new Set([...tests.values()].flatMap((each) => [...each.keys()]))].toSorted();
  const cell = (setUp: SetUpName, name: string): string => {
    const test = tests.get(setUp)?.get(name);
    return test === undefined ? 'not run' : words[test.result];
  };
  const header = `| test | ${setUps.map((setUp) => titles[setUp]).join(' | ')} |\n|---|${setUps.map(() => '---|').join('')}`;
  const rows = names.map((name) => `| ${escaped(name)} | ${setUps.map((setUp) => cell(setUp, name)).join(' | ')} |`);
  return [
    opening,
    summary(results, names),
    shortLists(directory),
    reasons('Failures', 'failed', results),
    reasons('Tests that skip themselves', 'skipped', results),
    notRun(),
    `## Test by test\n\n${header}\n${rows.join('\n')}\n`,
  ].join('');
}

function summary(results: ReadonlyMap<SetUpName, Results | undefined>, names: readonly string[]): string {
  const rows = [...results].map(([setUp, stored]) => {
    const of = (result: TestResult['result']): number => stored?.tests.filter((test) => test.result === result).length ?? 0;
    const versions = stored === undefined ? ' | ' : `${stored.kubernetes.slice(1)} | ${stored.kernel}`;
    const counts = [of('passed'), of('failed'), of('skipped'), names.length - (stored?.tests.length ?? 0)];
    return `| ${titles[setUp]} | ${versions} | ${stored?.date ?? ''} | ${counts.join(' | ')} |`;
  });
  return `| set-up | Kubernetes | kernel | last run | passes | fails | skips itself | not run |\n|---|---|---|---|---|---|---|---|\n${rows.join('\n')}\n\n`;
}

/** The short list of each minor, where it ran. */
function shortLists(directory: string): string {
  const rows = minors.flatMap((minor) =>
    setUps.flatMap((setUp) => {
      const stored = readResults(resultsFile(directory, setUp, minor));
      if (stored === undefined) return [];
      const of = (result: TestResult['result']): number => stored.tests.filter((test) => test.result === result).length;
      return [
        `| ${stored.kubernetes.slice(1)} | ${titles[setUp]} | ${stored.date} | ${of('passed')} | ${of('failed')} | ${of('skipped')} |`,
      ];
    }),
  );
  if (rows.length === 0) return '';
  return `## The short list, by version of Kubernetes\n\n\`npm run test:cluster -- --short --minor MINOR\`\n\n| Kubernetes | set-up | last run | passes | fails | skips itself |\n|---|---|---|---|---|---|\n${rows.join('\n')}\n\n`;
}

function reasons(title: string, result: TestResult['result'], results: ReadonlyMap<SetUpName, Results | undefined>): string {
  const rows = [...results].flatMap(([setUp, stored]) =>
    (stored?.tests ?? [])
      .filter((test) => test.result === result)
      .map(({ name, reason = '' }) => `| ${escaped(name)} | ${titles[setUp]} | ${escaped(reason)} |`),
  );
  if (rows.length === 0) return '';
  return `## ${title}\n\n| test | set-up | message |\n|---|---|---|\n${rows.toSorted().join('\n')}\n\n`;
}

function notRun(): string {
  const rows = exclusions.map(({ text, reason }) => `| \`${text}\` | ${reason} |`);
  return `## Tests that do not run\n\n| text in the name | reason |\n|---|---|\n${rows.join('\n')}\n\n`;
}

const escaped = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll('<', '&lt;')
    .replaceAll('[', String.raw`\[`);
