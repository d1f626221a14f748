import { annotationTable, type AnnotationEntry } from '../../../src/model/annotations.ts';

const opening = `# Annotations

Every annotation that Herald reads. One whose value cannot be understood is reported and left out, and the Service goes on without it; where it
asks for an address (the first five), the address waits until it is corrected. Any other annotation of a Service that begins with
\`herald.dev/\` is a warning. Values are text: write \`"true"\`, with quotes. Those of the AWS provider (\`herald.dev/aws-...\`)
are its own.

This page is written by \`npm run generate\` from \`src/model/annotations.ts\`. Edit that table, not the page.
`;

/** docs/reference/annotations.md. */
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
