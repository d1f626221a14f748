import { allocationReasons } from '../../src/model/reasons/allocation.ts';
import { announcementReasons } from '../../src/model/reasons/announcement.ts';
import { awsReasons } from '../../src/model/reasons/aws.ts';
import { configurationReasons } from '../../src/model/reasons/configuration.ts';
import { directReturnReasons } from '../../src/model/reasons/direct-return.ts';
import { explanationReasons } from '../../src/model/reasons/explanation.ts';
import { forwardingReasons } from '../../src/model/reasons/forwarding.ts';
import { hostReasons } from '../../src/model/reasons/host.ts';
import { providerReasons } from '../../src/model/reasons/provider.ts';
import type { ReasonEntry } from '../../src/model/reasons/entry.ts';

const chapters: readonly (readonly [string, string, Readonly<Record<string, ReasonEntry<never>>>])[] = [
  ['Addresses', 'Why a Service has no address, has not the one it asks for, or why a pool did not give one.', allocationReasons],
  ['Announcement', 'Why a node does not announce an address, to anybody or to one peer.', announcementReasons],
  ['Forwarding', 'Why a node forwards nothing for a Service, or not yet.', forwardingReasons],
  [
    'Direct server return',
    'Why packets are translated, with the address of a node as their source, although direct server return was asked for; or what is wrong with it.',
    directReturnReasons,
  ],
  ['Host', 'What is wrong with a host, or missing on it. Services may work all the same.', hostReasons],
  ['AWS', 'Why a Service has no load balancer in AWS, or what is odd about the one it asks for.', awsReasons],
  ['Other providers', 'What a provider says that was loaded by `--provider`: the sentence is its own.', providerReasons],
  ['Configuration', 'Why an object is left out although each of its fields is valid.', configurationReasons],
  [
    'Explanation',
    'What only `herald explain` says: it looks at Pods, which no decision reads, and whoever asks may not be allowed to read everything.',
    explanationReasons,
  ],
];

const opening = `# Reasons

Every "no" of Herald is one of these. The code is stable: conditions on Services carry it as \`reason\`, with the brief text as
\`message\`, or, of a mistake in what the Service asks of AWS, the sentence, so that one is told from another; agents write it into their NodeState; \`herald explain -o json\` and \`herald plan -o json\` give it with its details.
\`herald explain\` prints the full sentence and the fix. Words in &lt;angle brackets&gt; stand for the names and numbers at hand.

This page is written by \`npm run generate\` from \`src/model/reasons/\`. Edit the catalogue, not the page.
`;

export function reasonsPage(): string {
  const sections = chapters.map(([title, what, entries]) => {
    const rows = Object.entries(entries).map(
      ([code, entry]) => `| \`${code}\` | ${entry.brief} | ${sentence(entry.says)} | ${sentence(entry.fix)} |`,
    );
    return [`## ${title}`, '', what, '', '| code | brief | the sentence of explain | fix |', '|---|---|---|---|', ...rows, ''].join('\n');
  });
  return [opening, ...sections].join('\n');
}

/** Details whose every field is its own name; texts that are computed from a field work on that name. */
const placeholders = new Proxy({}, { get: (_, field) => `<${String(field)}>` });

function sentence(text: (details: never) => string): string {
  const written = text(placeholders as never);
  return written === '' ? 'nothing needs doing' : written.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
