import { annotationRows, deprecatedPrefix, metallbPrefix } from '../../src/model/parse/metallb-annotations.ts';
import { metallbKinds, reportKinds, type MetalLBKind } from '../../src/model/metallb/kinds.ts';
import { metallbEvents, metallbMetrics, metallbRest, type Row } from './metallb-rest.ts';

const head = `# MetalLB compatibility

What Herald does with everything that MetalLB has a name for: fields, annotations, Events, metrics. Facts of MetalLB are those of version 0.16.
This page is written by \`npm run generate\`; the rows of fields and annotations are the tables that the translator works by
(\`src/model/metallb\`), so that neither says what the other does not do. How to move a cluster: [migrating from MetalLB](../how-to/migrate-from-metallb.md).

- *same*: it means here what it means there.
- *differs*: how is said beside it. Where the behaviour of an object changes by it, \`herald import metallb\` reports that object, and with \`compat: metallb\` it has
  a warning.
- *no*: why is said beside it. The object, or that part of it, is refused aloud.

## Objects

With \`compat: metallb\` in [HeraldConfig](objects.md) the objects of \`metallb.io\` are read as objects of \`herald.dev\` that mean the same: in one namespace
(\`compatNamespace\`, \`metallb-system\` unless it says otherwise), as MetalLB reads only its own. They keep their names. An object of \`herald.dev\` goes before one
of MetalLB with the same kind and name, which is reported. Herald writes nothing to objects of MetalLB, nor to their status: what is wrong with one is in the
log of controller and agents, under the name that it has there (\`IPAddressPool.metallb.io/metallb-system/main\`), and a rule between objects that it breaks (pools that
overlap, a BGPPeer twice) is an Event of it.

One broken object is left out and everything else works; MetalLB takes no configuration at all then. A field that this version does not know is left
out with a warning. Bounds on lists are those of [limits](limits.md).
`;

const verdict = { same: 'same', differs: 'differs', no: 'no' } as const;

/** docs/reference/metallb-compatibility.md. */
export function metallbPage(): string {
  const kinds = metallbKinds.filter(({ kind }) => kind !== 'AddressPool').map(kindSection);
  return [head, ...kinds, otherKinds(), annotations(), events(), metrics(), rest()].join('\n');
}

function kindSection({ kind, version, rows, refused }: MetalLBKind): string {
  const title = `### ${kind} (${version})\n\n`;
  if (refused !== undefined) {
    const fields = rows.map(({ field }) => `\`${field}\``).join(', ');
    return `${title}Refused as a whole: ${refused.message}. ${capital(refused.fix)}. Its fields: ${fields}.\n`;
  }
  if (kind === 'BGPPeer' && version === 'v1beta1') {
    const own = rows.filter((row) => metallbKinds.every(({ rows }) => !rows.includes(row)) || row.text.includes('v1beta1'));
    const all = rows.map(({ field }) => `\`${field}\``).join(', ');
    const durations = own.map(({ field }) => `\`${field}\``).join(' and ');
    return `${title}The deprecated version, in files; a cluster is asked for v1beta2. Fields as above: ${all}. An object that came through the API server has
every duration, so \`0s\` of ${durations} is "not written" here, and so is \`peerPort: 0\`.\n`;
  }
  const table = rows.map(({ field, does, text }) => `| \`${field}\` | ${verdict[does]} | ${text} |\n`).join('');
  return `${title}| field of spec | Herald | |\n|---|---|---|\n${table}`;
}

function otherKinds(): string {
  const old = metallbKinds.find(({ kind }) => kind === 'AddressPool')?.refused;
  return `### Other kinds

| kind | Herald | |
|---|---|---|
| \`AddressPool\` | no | ${capital(old?.message ?? '')}: ${old?.fix ?? ''}. |
| ${reportKinds.map((kind) => `\`${kind}\``).join(', ')} | no | What MetalLB reports; they configure nothing, and are passed over. In their place: the conditions of a Service, \`NodeState\` (one a node), the conditions of each object of \`herald.dev\`, and \`herald explain\`. |
| \`status\` of IPAddressPool | differs | The same counts are in the status of an IPAddressPool of \`herald.dev\`; nothing is written to objects of MetalLB. |
| \`BGPSessionState\`, \`FRRNodeState\`, \`FRRConfiguration\` (frr-k8s) | no | Of FRR, which Herald does not use. Sessions are in \`NodeState\`. |
`;
}

function annotations(): string {
  const rows = annotationRows.map(({ name, ours, does, text }) => {
    return `| \`${metallbPrefix}${name}\` | ${ours === undefined ? '' : `\`${ours}\``} | ${verdict[does]} | ${text} |\n`;
  });
  return `## Annotations of a Service

Read with \`compat: metallb\`. \`${deprecatedPrefix}...\` is read as well, with a warning; \`${metallbPrefix}...\` goes before it, and an annotation of
Herald before either, with a warning where they disagree. Without compat each has a warning and no effect.

| annotation | Herald's own | Herald | |
|---|---|---|---|
${rows.join('')}`;
}

const table = (rows: readonly Row[], first: string): string =>
  `| ${first} | Herald | |\n|---|---|---|\n${rows.map(({ name, does, text }) => `| ${name} | ${verdict[does]} | ${text} |\n`).join('')}`;

function events(): string {
  return `## Events

Herald's are in \`events.k8s.io/v1\` and listed in [events](events.md). Each change is told once.

${table(metallbEvents, 'reason')}`;
}

function metrics(): string {
  return `## Metrics

Herald has [metrics of its own](metrics.md). For dashboards and alerts that ask for MetalLB's, \`manifests/monitoring\` has recording rules
([how](../how-to/monitoring.md#for-those-who-come-from-metallb)).

${table(metallbMetrics, 'metric')}`;
}

function rest(): string {
  return `## Behaviour and the rest

${table(metallbRest, '')}`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
