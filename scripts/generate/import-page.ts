import { tools } from '../../src/cli/commands/import/tools/all-tools.ts';
import { foreignAnnotations } from '../../src/model/reading/foreign-annotations.ts';
import type { SourceField, SourceKind } from '../../src/cli/commands/import/tools/reading/source-kind.ts';

const head = `# What \`herald import\` reads

\`herald import\` recognises by content where a configuration comes from, and says what becomes of it. \`npm run generate\` writes this page: its rows are the
tables that the translators read by, so a field that is in no row cannot be read, and a written field that was not read is reported as lost.

\`\`\`
herald import clusters/home -o report      # what would be lost
herald import clusters/home > herald.yaml  # the manifests; the report is on standard error
herald import --from-cluster -o report     # the same for the objects of a cluster, with your credentials
\`\`\`

| exit status | means |
|---|---|
| 0 | everything was translated |
| 3 | something is lost: a field, an object, or a file that is a template. The report names each one, with what to do |
| 1 | nothing was recognised, or only templates; or a path cannot be read |
| 64 | the command line is wrong |

## Where configurations are found

- Files with \`.yaml\`, \`.yml\` or \`.json\`, and all such files below a directory, without folders whose name begins with a dot and without links.
- Objects of Kubernetes, one or many in a file, and lists (\`kubectl get -o yaml\`).
- The texts of a ConfigMap of any name; Helm values in a file, in a HelmRelease of Flux (\`spec.values\`), in an Application of Argo CD (\`values\`,
  \`valuesObject\`, \`parameters\`, of one or several sources), and in a HelmChart or HelmChartConfig of k3s (\`valuesContent\`).
- A template (Helm, Jinja, \`\${VARIABLE}\`) is one line of the report: render it first. One that configures none of these programs is left
  out. An object that SOPS encrypted is one line too: decrypt it first.
- Annotations for Services that a chart or another controller makes (Helm values, a Gateway, an EnvoyProxy) ask these programs for addresses, and the Service is not in the
  files: the report names object, field and Herald's annotation, and it counts as a loss. With \`--from-cluster\` the Services themselves are read.
- Blocks of YAML and JSON in a Markdown file that is named. Below a directory they may be examples: one line names the files, and they are not read.
- For kube-proxy: a KubeProxyConfiguration, the ConfigMap that contains it, \`kube-proxy-arg\` in a configuration file of k3s or RKE2,
  \`--kube-proxy-arg\` in a file of any kind that is named (a unit of systemd), and the flags of its DaemonSet or static Pod.
- With \`--from-cluster\`: the objects of these programs' API groups that the cluster serves, the ConfigMaps of MetalLB before 0.13 and of kube-vip by their
  usual names, DaemonSets, one static Pod of kube-vip, and all Services, Nodes and Namespaces. A line names each list that you may not read. Secrets
  are not read, and neither is kube-proxy's configuration: use \`herald import kube-proxy\`.

## Addresses of Services

The report has a line for every Service of type LoadBalancer in the input: the addresses of its status, or else those that it asks for in
\`spec.loadBalancerIP\` or in an annotation of any of these programs, and what Herald would give it from the imported pools. HeraldConfig decides which Services
Herald serves; this report assumes all of them.

| after | means |
|---|---|
| pinned | \`spec.loadBalancerIP\` or \`herald.dev/load-balancer-ips\` has the address, and a pool gives it |
| while its status has it | Herald adopts the address that it finds. Run the command of the report: another program may clear the status |
| would get another address, would not get it | a loss; the command of the report pins the address |
| none | a loss that no annotation mends, with the reason: no pool has the address, or another Service has it |

Where a list of addresses replaces \`spec.loadBalancerIP\`, the command removes the field in the same request, because Herald refuses a Service with both.
Services with equal addresses share them. The commands give them a key, and let their namespaces admit each other. A Service that is in several
files is looked at once for each.

## In every object

- Names become names of Kubernetes: lower case, with "-" for other characters.
- Labels and annotations by which Argo CD, Flux and Helm recognise what they own are not copied: with them, the program that prunes the old objects
  would delete the new ones.
- A manifest that Herald would refuse is not written; the report has the reason.
- Of two objects that would have the same kind and name the second is refused.

- *translated*: the last column says where it goes, and what differs.
- *lost*: Herald has no equivalent. The report names the object, the field and what to do.
- *kept*: Herald needs nothing for it; where that may matter, the report has a note.
`;

/** Returns docs/reference/import.md. */
export function importPage(): string {
  const chapters = tools.map(({ name, kinds }) =>
    [`## ${name}\n`, ...(name === 'MetalLB' ? [metallb] : []), ...kinds.map(section)].join('\n'),
  );
  return [head, ...chapters, annotations()].join('\n');
}

/** Annotations of Services. Those of MetalLB are on the page about MetalLB. */
function annotations(): string {
  const code = (text: string | undefined): string => (text === undefined ? '' : `\`${text}\``);
  const rows = foreignAnnotations.map(
    ({ name, tool, ours, compat, fix }) =>
      `| \`${name}\` | ${tool} | ${code(ours === undefined ? undefined : compat)} | ${code(ours)} | ${fix} |\n`,
  );
  return `## Annotations of Services

Herald reads an annotation only when \`compat\` of [HeraldConfig](objects.md) names its program: \`compat: [cilium, kube-vip]\`. Otherwise a Service that has one of them
and not Herald's own causes a warning with the fix, in the log and in \`herald plan\`, and the report of \`herald import\` has the command that annotates it. [MetalLB
compatibility](metallb-compatibility.md#annotations-of-a-service) has those of MetalLB.

What is read has the meaning of Herald's own annotation, which wins over it; when two disagree, a warning names the one that is not used. Of several programs MetalLB
counts first, then the order of \`compat\`. \`herald explain service\` and \`herald plan\` name the annotation that asked for an address or a pool. Beside
\`spec.loadBalancerIP\` the annotation of kube-vip and of PureLB counts alone, and with Cilium's the Service gets both addresses, as in these programs.
An address of DHCP (\`0.0.0.0\` or \`::\` with kube-vip) is refused with that reason. kube-vip lets Services share an address without a key: with
\`compat\` those of one namespace that ask for it by its annotation do. Across namespaces kube-vip needs no key, and PureLB the key alone; Herald needs [the key and the
namespaces](annotations.md) on both. \`compat\` does not change which Services Herald serves, except with
\`metallb\`: see \`defaultClass\`.

| annotation | of | in \`compat\` | Herald's own | otherwise |
|---|---|---|---|---|
${rows.join('')}`;
}

const metallb =
  'The fields of its present kinds are on [MetalLB compatibility](metallb-compatibility.md). `herald import metallb` reads them from a cluster too.\n';

const section = ({ kind, root, fields }: SourceKind): string =>
  `### ${kind}\n\n| field${root === '' ? '' : ` of ${root.replace(/\.$/, '')}`} | | |\n|---|---|---|\n${fields.map(row).join('')}`;

const row = ({ field, does, text, fix }: SourceField): string =>
  `| \`${field}\` | ${does} | ${does === 'translated' ? text : sentence(text, fix)} |\n`;

const sentence = (text: string, fix: string): string => `It ${text}${fix === '' ? '' : `: ${fix}`}${fix.endsWith('.') ? '' : '.'}`;
