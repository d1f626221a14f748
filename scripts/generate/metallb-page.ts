import { annotationRows, deprecatedPrefix, metallbPrefix } from '../../src/model/reading/metallb-annotations.ts';
import { metallbKinds, reportKinds, type MetalLBKind } from '../../src/model/metallb/kinds.ts';
import { metallbEvents, metallbMetrics, metallbBehaviour, type Row } from './metallb-tables.ts';

const head = `# MetalLB compatibility

How Herald treats the fields, annotations, Events and metrics of MetalLB 0.16. \`npm run generate\` writes this page. The rows of fields and annotations are
the tables of the translator (\`src/model/metallb\`), so page and translator agree. To move a cluster, see
[migrating from MetalLB](../how-to/migrate-from-metallb.md).

- *same*: it has the same meaning in Herald.
- *differs*: the last column says how. When the difference changes the behaviour of an object, \`herald import metallb\` reports the object, and with
  \`compat: metallb\` the object causes a warning.
- *no*: the last column says why. The object or that part of it is refused with an error.

## Objects

With \`compat: metallb\` in [HeraldConfig](objects.md), Herald reads objects of \`metallb.io\` as objects of \`herald.dev\` with the same meaning and name. It
reads one namespace, as MetalLB does: \`compatNamespace\`, by default \`metallb-system\`. An object of \`herald.dev\` wins over a MetalLB object of the same kind
and name, and Herald reports the conflict. Herald never writes to MetalLB objects or their status. The log of the controller and the agents has the problems of
each object under its full name (\`IPAddressPool.metallb.io/metallb-system/main\`). An object that breaks a rule between objects (overlapping pools, a duplicate
BGPPeer) also gets an Event.

Herald leaves out a broken object and uses all others; MetalLB then accepts no configuration at all. Herald leaves out an unknown field with a warning.
[Limits](limits.md) has the bounds of lists.
`;

const verdict = { same: 'same', differs: 'differs', no: 'no' } as const;

/** Returns docs/reference/metallb-compatibility.md. */
export function metallbPage(): string {
  const kinds = metallbKinds.filter(({ kind }) => kind !== 'AddressPool').map(kindSection);
  return [head, ...kinds, otherKinds(), annotations(), events(), metrics(), behaviour()].join('\n');
}

function kindSection({ kind, version, rows, refused }: MetalLBKind): string {
  const title = `### ${kind} (${version})\n\n`;
  if (refused !== undefined) {
    const fields = rows.map(({ field }) => `\`${field}\``).join(', ');
    return `${title}Refused as a whole: ${refused.message}. ${capital(refused.fix)}. Its fields: ${fields}.\n`;
  }
  if (kind === 'BGPPeer' && version === 'v1beta1') {
    const all = rows.map(({ field }) => `\`${field}\``).join(', ');
    return `${title}The deprecated version is read from files only; from a cluster Herald reads v1beta2. Fields as above: ${all}. An object that came through the API
server has a value for every duration, so \`holdTime: 0s\` and \`keepaliveTime: 0s\` mean "not set", and so does \`peerPort: 0\`.\n`;
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
| ${reportKinds.map((kind) => `\`${kind}\``).join(', ')} | no | MetalLB's reports. They configure nothing and are ignored. Herald has instead: conditions of Services and of each \`herald.dev\` object, a \`NodeState\` for each node, and \`herald explain\`. |
| \`status\` of IPAddressPool | differs | The status of an IPAddressPool of \`herald.dev\` has the same counts. Herald writes nothing to MetalLB objects. |
| \`BGPSessionState\`, \`FRRNodeState\`, \`FRRConfiguration\` (frr-k8s) | no | They belong to FRR, which Herald does not use. \`NodeState\` lists the sessions. |
`;
}

function annotations(): string {
  const rows = annotationRows.map(({ name, ours, does, text }) => {
    return `| \`${metallbPrefix}${name}\` | ${ours === undefined ? '' : `\`${ours}\``} | ${verdict[does]} | ${text} |\n`;
  });
  return `## Annotations of a Service

Read with \`compat: metallb\`. \`${deprecatedPrefix}...\` is read too, with a warning. \`${metallbPrefix}...\` wins over it, and Herald's own annotation wins over
both; when they disagree, there is a warning. Without \`compat\` each has no effect and causes a warning.

| annotation | Herald's own | Herald | |
|---|---|---|---|
${rows.join('')}`;
}

const table = (rows: readonly Row[], first: string): string =>
  `| ${first} | Herald | |\n|---|---|---|\n${rows.map(({ name, does, text }) => `| ${name} | ${verdict[does]} | ${text} |\n`).join('')}`;

function events(): string {
  return `## Events

Herald writes \`events.k8s.io/v1\`; [events](events.md) lists them. Each change is reported once.

${table(metallbEvents, 'reason')}`;
}

function metrics(): string {
  return `## Metrics

Herald has [its own metrics](metrics.md). For dashboards and alerts that use MetalLB's names, \`manifests/monitoring\` has recording rules
([how](../how-to/monitoring.md#metric-names-of-metallb)).

${table(metallbMetrics, 'metric')}`;
}

function behaviour(): string {
  return `## Behaviour and the rest

${table(metallbBehaviour, '')}`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
