import { allocationReasons } from '../../src/model/reasons/allocation.ts';
import { announcementReasons } from '../../src/model/reasons/announcement.ts';
import { awsReasons } from '../../providers/aws/tables/reasons/reasons.ts';
import { checkReasons } from '../../src/model/reasons/checks.ts';
import { configurationReasons } from '../../src/model/reasons/configuration.ts';
import { directReturnReasons } from '../../src/model/reasons/direct-return.ts';
import { explanationReasons } from '../../src/model/reasons/explanation.ts';
import { forwardingReasons } from '../../src/model/reasons/forwarding.ts';
import { hostReasons } from '../../src/model/reasons/host.ts';
import { l2Reasons } from '../../src/model/reasons/l2.ts';
import { providerReasons } from '../../src/model/reasons/provider.ts';
import { receivedRouteReasons } from '../../src/model/reasons/bgp/received-routes.ts';
import { sessionReasons } from '../../src/model/reasons/bgp/session.ts';
import type { ReasonEntry } from '../../src/model/reasons/entry.ts';

const chapters: readonly (readonly [string, string, Readonly<Record<string, ReasonEntry<never>>>])[] = [
  ['Addresses', 'Why a Service has no address or not the requested one, or why a pool gave none.', allocationReasons],
  ['Announcement', 'Why a node does not announce an address at all, or not to one peer.', announcementReasons],
  ['ARP and NDP', 'Why a node does not answer for an address by ARP and NDP, or what disturbs it.', l2Reasons],
  ['Sessions', 'Why a BGP session is down: the first cause of the outage. A later symptom is added to the sentence.', sessionReasons],
  [
    'Received routes',
    'Why a node does not put a route of a peer into its kernel, although `import` of the BGPPeer accepts it.',
    receivedRouteReasons,
  ],
  ['Forwarding', 'Why a node forwards nothing for a Service, or nothing yet.', forwardingReasons],
  ['Connections', 'What a node saw of connections to endpoints, or of the way to them.', checkReasons],
  [
    'Direct server return',
    'Why packets are translated and have a node as their source although direct server return is on, or what is wrong with it.',
    directReturnReasons,
  ],
  ['Host', 'What is wrong with a host or missing on it. Services may still work.', hostReasons],
  ['AWS', 'Why a Service has no load balancer in AWS, or what is unusual about its request.', awsReasons],
  ['Other providers', 'Reasons of a provider that `--provider` loaded. The provider writes the sentence.', providerReasons],
  ['Configuration', 'Why an object is left out although each of its fields is valid.', configurationReasons],
  [
    'Explanation',
    'Only `herald explain` gives these. It reads Pods, which no decision reads, and its user may lack permissions.',
    explanationReasons,
  ],
];

const opening = `# Reasons

Every refusal of Herald has one of these reasons. The code is stable. Conditions of Services have it as \`reason\`, with the brief text as \`message\`; an error in
what a Service asks of AWS has the full sentence, because several errors share a code. Agents write the code into their NodeState. \`herald explain -o json\` and
\`herald plan -o json\` show it with its details, and \`herald explain\` prints the sentence and the fix. Words in &lt;angle brackets&gt; stand for names and numbers.

\`npm run generate\` writes this page from \`src/model/reasons/\`. Edit the catalogue, not the page.
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

/** Details in which the value of each field is the field's name, for sentences with placeholders. */
const placeholders = new Proxy({}, { get: (_, field) => `<${String(field)}>` });

function sentence(text: (details: never) => string): string {
  const written = text(placeholders as never);
  return written === '' ? 'nothing needs doing' : written.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
