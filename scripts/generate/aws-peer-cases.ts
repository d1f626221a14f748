import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { peerReasons, peerTables, type PeerTableOf } from '../../providers/aws/test/support/peer-cases/case-files.ts';

const page = join(import.meta.dirname, '../../docs/reference/aws.md');
const title = '## Compared with the tests of LBC and CPA';

/** docs/reference/aws.md with its section about the tests of other controllers. The rest of the page is written by hand. */
export function awsPage(): string {
  const text = readFileSync(page, 'utf8');
  const start = text.indexOf(`${title}\n`);
  if (start < 0) throw new Error(`${page} has no section "${title}"`);
  const next = text.indexOf('\n## ', start + title.length);
  return `${text.slice(0, start)}${section()}${next < 0 ? '' : text.slice(next)}`;
}

const peers = { 'kubernetes-sigs/aws-load-balancer-controller': 'LBC', 'kubernetes/cloud-provider-aws': 'CPA' } as const;

interface Counts {
  cases: number;
  agree: number;
  differ: number;
  outOfScope: number;
}

function section(): string {
  const tables = peerTables();
  const byFile = Map.groupBy(tables, (table) => `${peerOf(table)} ${table.version} | \`${fileOf(table)}\``);
  const files = [...byFile].map(([file, of]) => `| ${file} | ${row(countsOf(of))} |`);
  const totals = [...Map.groupBy(tables, peerOf)].map(([peer, of]) => `| **${peer}** | **all** | ${row(countsOf(of))} |`);
  const { differences, outOfScope } = peerReasons();
  return `${title}

Herald's tests contain the cases of the table tests of both controllers as data (\`providers/aws/test/peer-cases/\`): the input, and the result that the
other controller expects. \`npm test\` computes Herald's result for each case. It fails if Herald differs without one of the reasons below, and if a
difference no longer exists. \`npm run generate\` writes this section.

| controller | file | cases | agree | differ | out of scope |
|---|---|---:|---:|---:|---:|
${[...files.toSorted(), ...totals].join('\n')}

| difference | LBC | CPA |
|---|---:|---:|
${rows(differences, tables, casesThatDiffer)}

| out of scope | LBC | CPA |
|---|---:|---:|
${rows(outOfScope, tables, casesOutOfScope)}
`;
}

const peerOf = ({ repository }: PeerTableOf): string => peers[repository as keyof typeof peers];
const fileOf = ({ source }: PeerTableOf): string => source.split(' ')[0] ?? source;
const row = ({ cases, agree, differ, outOfScope }: Counts): string => [cases, agree, differ, outOfScope].join(' | ');

function countsOf(tables: readonly PeerTableOf[]): Counts {
  const counts: Counts = { cases: 0, agree: 0, differ: 0, outOfScope: 0 };
  for (const { cases, count = 0 } of tables) {
    counts.cases += count + cases.length;
    counts.outOfScope += count + cases.filter((one) => one.outOfScope !== undefined).length;
    counts.differ += cases.filter((one) => one.differs !== undefined).length;
  }
  counts.agree = counts.cases - counts.differ - counts.outOfScope;
  return counts;
}

/** One row for each reason, with its number of cases of LBC and of CPA. A case may have several differences. */
function rows(
  reasons: Readonly<Record<string, string>>,
  tables: readonly PeerTableOf[],
  count: (reason: string, table: PeerTableOf) => number,
): string {
  const sum = (reason: string, peer: string): number =>
    tables.filter((table) => peerOf(table) === peer).reduce((total, table) => total + count(reason, table), 0);
  return Object.entries(reasons)
    .map(([key, text]) => `| ${text} | ${sum(key, 'LBC')} | ${sum(key, 'CPA')} |`)
    .join('\n');
}

function casesThatDiffer(reason: string, { cases }: PeerTableOf): number {
  return cases.filter(({ differs }) => differs?.[reason] !== undefined).length;
}

function casesOutOfScope(reason: string, { cases, outOfScope, count = 0 }: PeerTableOf): number {
  return (outOfScope === reason ? count : 0) + cases.filter((one) => one.outOfScope === reason).length;
}
