import { annotationTable } from '../../providers/aws/annotations/table.ts';
import { heraldPrefix, type AnnotationEntry } from '../../providers/aws/annotations/entry.ts';

const entries: readonly AnnotationEntry<unknown>[] = Object.values(annotationTable);

const opening = `# Annotations of AWS load balancers

The annotations that configure the load balancer of a Service. Keys of upstream start with \`service.beta.kubernetes.io/\`, Herald's own keys with
\`${heraldPrefix}\`. All errors of a Service are reported at once, and nothing is changed until they are corrected. An unknown key causes a warning, and so
does a key without effect on the Service's kind of load balancer. Items of lists are trimmed. In key=value lists the first \`=\` separates key and
value, and \`\\\` escapes the next character.

\`npm run generate\` writes this page from \`providers/aws/annotations/\`. Edit the table, not the page.
`;

const middle = `## Fidelity

How Herald treats the annotations of the AWS Load Balancer Controller (LBC, v3.5) and of the cloud provider AWS (CPA, v1.36). \`yes\`: the same.
\`differs\`: as the last column describes. \`no\`: not supported. \`-\`: that program does not define the annotation.
`;

/** Returns the key without the prefix that all upstream keys share. */
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
    chapter('Annotations of upstream', upstream),
    chapter('Annotations of Herald', entries.filter(isOwn)),
    middle,
    ['| annotation | LBC | CPA | difference |', '|---|---|---|---|', ...fidelity, ''].join('\n'),
  ].join('\n');
}

function kinds({ kinds }: AnnotationEntry<unknown>): string {
  if (kinds.length === 0) return 'not supported';
  return kinds.map((kind) => (kind === 'nlb' ? 'NLB' : 'Classic')).join(', ');
}
