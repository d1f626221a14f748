import { annotationTable } from '../../providers/aws/annotations/table.ts';
import { heraldPrefix, type AnnotationEntry } from '../../providers/aws/annotations/entry.ts';

const entries: readonly AnnotationEntry<unknown>[] = Object.values(annotationTable);

const opening = `# Annotations of AWS load balancers

What a Service may say about its load balancer. Keys of upstream begin with \`service.beta.kubernetes.io/\`, our own with \`${heraldPrefix}\`.
All mistakes of a Service are reported at once, and nothing is changed until they are corrected. A key that is not known, and one that does
nothing on the kind of load balancer that the Service has, is a warning. Items of lists are trimmed. Key=value lists divide at the first
\`=\`; \`\\\` makes the character after it an ordinary one.

This page is written by \`npm run generate\` from \`providers/aws/annotations/\`. Edit the table, not the page.
`;

const middle = `## Fidelity

How annotations of the AWS Load Balancer Controller (LBC, v3.5) and of the cloud provider AWS (CPA, v1.36) are taken: \`yes\` as there, \`differs\`
as the last column says, \`no\` not at all; \`-\` means that the program does not have it.
`;

/** Without the part that all keys of upstream have in common. */
const shown = ({ key, family }: AnnotationEntry<unknown>): string =>
  `\`${key.replace('service.beta.kubernetes.io/', '')}${family === undefined ? '' : `.${family}`}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|');

export function awsAnnotationsPage(): string {
  const chapter = (title: string, chosen: readonly AnnotationEntry<unknown>[]): string => {
    const rows = chosen.map(
      (one) => `| ${shown(one)} | ${cell(one.type.name)} | ${kinds(one)} | ${cell(one.default)} | ${cell(one.description)} |`,
    );
    return [`## ${title}`, '', '| annotation | value | on | default | meaning |', '|---|---|---|---|---|', ...rows, ''].join('\n');
  };
  const isOwn = ({ key }: AnnotationEntry<unknown>): boolean => key.startsWith(heraldPrefix);
  const upstream = entries.filter((one) => !isOwn(one));
  const fidelity = upstream.map((one) => `| ${shown(one)} | ${one.lbc ?? '-'} | ${one.cpa ?? '-'} | ${cell(one.difference ?? '')} |`);
  return [
    opening,
    chapter('Of upstream', upstream),
    chapter('Our own', entries.filter(isOwn)),
    middle,
    ['| annotation | LBC | CPA | difference |', '|---|---|---|---|', ...fidelity, ''].join('\n'),
  ].join('\n');
}

function kinds({ kinds }: AnnotationEntry<unknown>): string {
  if (kinds.length === 0) return 'not supported';
  return kinds.map((kind) => (kind === 'nlb' ? 'NLB' : 'Classic')).join(', ');
}
