import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from '../../src/model/reasons.ts';
import { clusterCases, podCases } from '../../test/conformance/diagnosis/cases.ts';
import { linkMistakes } from '../../test/lab/diagnosis/cases/link.ts';
import { allTruths } from '../../test/lab/diagnosis/truth/all-truths.ts';
import { allCases, allProblems, aloneMistakes, type PlacedCase } from '../../test/lab/diagnosis/all-cases.ts';

const head = `# Diagnosis

Mistakes that were made for real, and the first line of \`herald explain service\` for the Service that suffers from each. \`npm run test:lab\` makes them in network
namespaces with real routers and clients (\`test/lab/diagnosis.test.ts\`). For each row it checks that

- clients reached the Service before the mistake, and reach it again after the fix, unless the Service or its session is new;
- the verdict is the sentence below, and the verdict, the condition, the Event, the metric \`herald_service_conditions\` and the row of \`herald status --problems\` carry the same code;
- every sentence of the explanation agrees with the rules in the nodes' kernels, the routes of the routers and the answers that a client gets, over IPv4 and IPv6.

\`npm run test:conformance\` makes the mistakes that need no router and no host with a real kube-apiserver and controller as well
(\`test/conformance/diagnosis.test.ts\`). There the condition of the Service and the Event in \`events.k8s.io/v1\` have the whole sentence of the verdict.

The objects of a row have its name. \`npm test\` checks the rows without routers and hosts in a short form. \`npm run generate\` writes this page from
\`test/lab/diagnosis/cases/\`. [reasons.md](reasons.md) has every code with its fix.

`;

/** Returns docs/reference/diagnosis.md. */
export function diagnosisPage(): string {
  const groups = Map.groupBy(allCases, ({ one }) => one.condition ?? 'none');
  const sections = order.flatMap(([condition, title]) => {
    const rows = (groups.get(condition) ?? []).map(verdictRow);
    return rows.length === 0 ? [] : [`## ${title}\n\n${headOfVerdicts}${rows.join('')}`];
  });
  const rows = allProblems.map(({ one, place }) => `| ${one.mistake} | \`${one.code}\` | \`${one.object(place)}\` | ${one.says} |\n`);
  return `${head}${sections.join('\n')}\n${headOfAlone}${aloneMistakes.map(verdictRow).join('')}\n${ofConnections()}\n${ofLinks()}\n${ofObjects}${rows.join('')}${ofCluster()}${otherCodes()}`;
}

const headOfVerdicts = '| mistake | code | verdict |\n|---|---|---|\n';

const headOfAlone = `## Mistakes that concern every Service

\`test/lab/diagnosis-alone.test.ts\` makes them one after the other.

${headOfVerdicts}`;

/** Mistakes that show in nothing but what becomes of connections. */
function ofConnections(): string {
  const rows = allTruths.map(({ one: { mistake, code, verdict, gap } }) => {
    const said = gap === undefined ? verdict : `Herald does not say so yet: ${verdict} ${gap}`;
    return `| ${mistake} | ${code === undefined ? '' : `\`${code}\``} | ${said} |\n`;
  });
  return `${headOfConnections}${rows.join('')}`;
}

const headOfConnections = `## Mistakes behind sound rules

\`test/lab/truth.test.ts\` (\`npm run test:truth\`) makes them together in a lab of three nodes, of which node1 and node2 announce the addresses. Clients connect before and
after each, and after the fix, over IPv4 and IPv6. A row without a code is a mistake that Herald cannot see: its verdict says no more than what was seen.

${headOfVerdicts}`;

/** Mistakes on a link without routers, where nodes announce addresses by ARP and NDP. */
function ofLinks(): string {
  return `${headOfLinks}${linkMistakes.map(({ mistake, code, verdict }) => `| ${mistake} | \`${code}\` | ${verdict} |\n`).join('')}`;
}

const headOfLinks = `## Mistakes with ARP and NDP

\`test/lab/diagnosis-link.test.ts\` makes them one after the other on a link with two nodes, n0 and n1, and no router. It checks the verdict and the row of
\`herald status --problems\`, and that the Service is served before and after.

${headOfVerdicts}`;

const verdictRow = ({ one }: PlacedCase): string => `| ${one.mistake} | \`${one.code}\` | ${one.verdict} |\n`;

/** Mistakes that test/conformance/diagnosis.test.ts makes in addition to those of the lab. */
function ofCluster(): string {
  const services = clusterCases.map(({ mistake, code, verdict }) => `| ${mistake} | \`${code}\` | ${verdict} |\n`);
  const pods = podCases.map(({ mistake, code, sentence }) => `| ${mistake} | \`${code}\` | ${sentence} |\n`);
  return `${headOfCluster}${services.join('')}${headOfPods}${pods.join('')}`;
}

/** The tests that name a code, the ones with real parts first. */
const places = [
  ['the lab, in a test of its own', 'test/lab'],
  ['a real kube-apiserver', 'test/conformance'],
  ['unit tests only', 'test/unit'],
] as const;

/** Lists the codes without a row, by the tests that name them. */
export function codesWithoutRow(): ReadonlyMap<string, readonly string[]> {
  const rows = new Set<string | undefined>(
    [...allCases, ...aloneMistakes, ...allProblems].flatMap(({ one }) => [one.code, ...('alsoSays' in one ? [one.alsoSays?.code] : [])]),
  );
  for (const { code } of [...clusterCases, ...podCases, ...linkMistakes]) rows.add(code);
  for (const { one } of allTruths) rows.add(one.code);
  // Codes of AWS have examples in aws.md.
  const left = new Set(Object.keys(catalogue).filter((code) => !rows.has(code)));
  const found = places.map(([place, folder]): [string, string[]] => {
    const words = wordsOf(folder);
    const named = [...left].filter((code) => words.has(code));
    for (const code of named) left.delete(code);
    return [place, named.toSorted()];
  });
  return new Map([...found, ['no test by name', [...left].toSorted()]]);
}

function otherCodes(): string {
  const found = [...codesWithoutRow()].filter(([, codes]) => codes.length > 0);
  const lines = found.map(([place, codes]) => `| ${place} | ${codes.length} | ${codes.map((code) => `\`${code}\``).join(', ')} |\n`);
  return `\n## Codes without a row\n\n| tested in | codes | |\n|---|---|---|\n${lines.join('')}`;
}

/** Returns the words in the code of a folder. */
function wordsOf(folder: string): ReadonlySet<string> {
  const root = join(import.meta.dirname, '../..', folder);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.startsWith('house/'),
  );
  return new Set(files.flatMap((name) => readFileSync(join(root, name), 'utf8').match(/\w+/g) ?? []));
}

const ofObjects = `## Mistakes in other objects

Services are served as before. \`herald status --problems\` has one row for each of these mistakes.

| mistake | code | object | row |
|---|---|---|---|
`;

const headOfCluster = `
## Mistakes that need an API server

\`test/conformance/diagnosis.test.ts\` makes these mistakes with a real kube-apiserver and controller.

| mistake | code | verdict |
|---|---|---|
`;

const headOfPods = `
## Mistakes in Pods

The verdict, the condition and the Event have the code \`NoEndpoints\`. \`herald explain service\` reads the Pods too: its block Endpoints has the code and the sentence
below. kube-controller-manager writes the EndpointSlices of these Services from their selectors.

| mistake | code | sentence |
|---|---|---|
`;

const order = [
  ['AddressAssigned', 'The Service has no address'],
  ['Programmed', 'Nodes do not forward'],
  ['Announced', 'The address is not announced'],
  ['Answered', 'Connections fail'],
  ['none', 'No condition is False'],
] as const;
