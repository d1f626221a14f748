import { annotationTable, type AnnotationEntry } from '../../../src/model/annotations.ts';

const opening = `# Annotations

Every annotation that Herald reads. An annotation with an invalid value is reported and ignored. When it is a request for an address (the first five), the
Service waits for an address until the value is corrected. Any other annotation of a Service that begins with \`herald.dev/\` causes a warning. Values are text:
write \`"true"\`, with quotes. The AWS provider has [its own annotations](aws-annotations.md) (\`herald.dev/aws-...\`).

\`npm run generate\` writes this page from \`src/model/annotations.ts\`. Edit that table, not the page.
`;

/** Returns docs/reference/annotations.md. */
export function annotationsPage(): string {
  const entries: readonly AnnotationEntry[] = Object.values(annotationTable);
  const of = (on: AnnotationEntry['on']): string[] => [
    `## Of ${on === 'EndpointSlice' ? 'an' : 'a'} ${on}`,
    '',
    '| annotation | value | without it | meaning |',
    '|---|---|---|---|',
    ...entries.filter((entry) => entry.on === on).map(row),
    '',
  ];
  return [opening, ...of('Service'), ...of('EndpointSlice'), ...of('Node')].join('\n');
}

const row = ({ name, values, example, unset, meaning }: AnnotationEntry): string =>
  `| \`${name}\` | ${values}: \`${example}\` | ${unset} | ${meaning} |`;
