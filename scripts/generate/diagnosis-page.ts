import { allCases, allProblems } from '../../test/lab/diagnosis/all-cases.ts';

const head = `# Diagnosis

Mistakes that were made for real, and the first line of \`herald explain service\` for the Service that suffers from each. \`npm run test:lab\` makes them in network
namespaces with real routers and clients (\`test/lab/diagnosis.test.ts\`). For each row it checks that

- clients reached the Service before the mistake, and reach it again after the fix, unless the Service or its session is new;
- the verdict is the sentence below, and the verdict, the condition, the Event, the metric \`herald_service_conditions\` and the row of \`herald status --problems\` carry the same code;
- every sentence of the explanation agrees with the rules in the nodes' kernels, the routes of the routers and the answers that a client gets, over IPv4 and IPv6.

The objects of a row have its name. \`npm test\` checks the rows without routers and hosts in a short form. \`npm run generate\` writes this page from
\`test/lab/diagnosis/cases/\`. [reasons.md](reasons.md) has every code with its fix.

`;

/** Returns docs/reference/diagnosis.md. */
export function diagnosisPage(): string {
  const groups = Map.groupBy(allCases, ({ one }) => one.condition ?? 'none');
  const sections = order.flatMap(([condition, title]) => {
    const rows = (groups.get(condition) ?? []).map(({ one }) => `| ${one.mistake} | \`${one.code}\` | ${one.verdict} |\n`);
    return rows.length === 0 ? [] : [`## ${title}\n\n| mistake | code | verdict |\n|---|---|---|\n${rows.join('')}`];
  });
  const rows = allProblems.map(({ one, place }) => `| ${one.mistake} | \`${one.code}\` | \`${one.object(place)}\` | ${one.says} |\n`);
  return `${head}${sections.join('\n')}\n${ofObjects}${rows.join('')}`;
}

const ofObjects = `## Mistakes in other objects

Services are served as before. \`herald status --problems\` has one row for each of these mistakes.

| mistake | code | object | row |
|---|---|---|---|
`;

const order = [
  ['AddressAssigned', 'The Service has no address'],
  ['Programmed', 'Nodes do not forward'],
  ['Announced', 'The address is not announced'],
  ['none', 'No condition is False'],
] as const;
