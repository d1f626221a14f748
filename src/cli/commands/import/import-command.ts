import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import { importServices } from '../../../model/metallb/import-services.ts';
import { isRecord } from '../../../lang/is-record.ts';
import { problemText } from '../../../sources/source.ts';
import { jsonText, hint, UsageError, type CommandContext } from '../../context/command-context.ts';
import type { SecretsRead } from './across-objects.ts';
import { importDocuments, renderedServices, uniqueNames, type ImportedTool } from './import-documents.ts';
import { importData, levelsOf, renderImport, type ImportReport } from './import-report.ts';
import { addCallerOptions, type CallerOptions } from '../../options/shared-options.ts';
import { manifestsOption } from '../../reading/open-reading.ts';
import { readFiles } from '../../reading/read-manifests.ts';
import { requestsElsewhere } from './requests-elsewhere.ts';
import { readCluster } from './read-cluster.ts';
import { readMetalLBObjects } from './read-metallb.ts';
import { reportAddresses } from './service-addresses.ts';
import { withEmbedded, type RawDocument } from './sources/embedded.ts';
import { readSources, type Sources } from './sources/read-sources.ts';
import { importMetalLB, metallb } from './tools/metallb/metallb.ts';
import { tools } from './tools/all-tools.ts';
import { kubeProxy } from './tools/kube-proxy/kube-proxy.ts';
import type { Manifest } from './tools/tool.ts';

interface OutputOptions {
  readonly namespace?: string;
  readonly output: 'yaml' | 'report' | 'json';
}

interface ImportOptions extends CallerOptions, OutputOptions {
  readonly fromCluster?: true;
}

interface MetalLBOptions extends CallerOptions, OutputOptions {
  readonly file?: readonly string[];
}

/** In the order in which they are applied: referenced objects come first. */
const kinds = [
  'HeraldConfig',
  'Community',
  'BFDProfile',
  'ExternalIPPolicy',
  'IPAddressPool',
  'BGPPeer',
  'BGPAdvertisement',
  'L2Advertisement',
];

const outputOption = (): Option =>
  new Option(
    '-o, --output <format>',
    'yaml: manifests, with the report on standard error; report: only the report; json: the report as data',
  )
    .choices(['yaml', 'report', 'json'])
    .default('yaml');

export function importCommand(context: CommandContext): Command {
  const command = new Command('import')
    .description(
      `convert the configuration of another program to manifests of Herald, with a report of what is lost: ${named} (exit status 0: nothing is lost, 3: something is, 1: nothing was recognised)`,
    )
    .argument('[paths...]', 'files, directories, or - for standard input')
    .option('--from-cluster', 'read the objects of the other programs, and the Services, from a cluster')
    .option('-n, --namespace <name>', 'namespace of MetalLB (default: metallb-system, or the only one in the files)')
    .addOption(outputOption())
    .addCommand(metallbCommand(context))
    .addCommand(kubeProxyCommand(context))
    .addHelpText(
      'after',
      '\nExample:\n  herald import clusters/home -o report       what would be lost\n  herald import clusters/home > herald.yaml\n  herald import --from-cluster -o report         from the cluster of $KUBECONFIG\n  kubectl get ciliumloadbalancerippools,ciliuml2announcementpolicies,services -A -o yaml | herald import - > herald.yaml\n\nNothing is changed. Services are not in the output: the report has the commands that annotate them.',
    )
    .action(async (paths: readonly string[], options: ImportOptions) => importAll(context, paths, options));
  return addCallerOptions(command);
}

const named = tools.map(({ name }) => name).join(', ');

async function importAll(context: CommandContext, paths: readonly string[], options: ImportOptions): Promise<void> {
  const { documents, unread, notes = [], templates: unreadable = [] } = await readInput(context, paths, options);
  const { tools: found, templates } = importDocuments(documents, { namespace: options.namespace, unreadable });
  const rendered = renderedServices(documents);
  const others = documents.filter(({ raw }) => isRecord(raw) && raw['kind'] !== 'Service');
  const lines = { unread: [...unread, ...templates, ...rendered.templates], notes };
  const report = reportOf(found, [...others, ...rendered.services], lines);
  if (found.length === 0 && !hasRequests(report)) {
    for (const line of report.unread) context.printError(`problem: ${line}`);
    for (const line of notes) context.printError(`note: ${line}`);
    const input = options.fromCluster === true ? 'the cluster' : paths.join(' and ');
    if (report.unread.length > 0) throw new UsageError(`${input} has nothing that could be imported: see the problems above`);
    throw new UsageError(`${input} has no configuration of ${named}${askingNothing(report)}`);
  }
  finish(context, options, report);
}

function readInput(context: CommandContext, paths: readonly string[], options: ImportOptions): Promise<Sources> {
  if (options.fromCluster !== true && hasCluster(options))
    throw new UsageError('--kubeconfig, --apiserver and --context need --from-cluster', 64);
  if (options.fromCluster === true && paths.length > 0) throw new UsageError('name paths or use --from-cluster, not both', 64);
  if (options.fromCluster === true) return readCluster(context, options, options.namespace);
  if (paths.length === 0) throw new UsageError('name files, directories, or - for standard input, or use --from-cluster', 64);
  return readSources(context, paths);
}

const hasCluster = ({ kubeconfig, apiserver, context }: CallerOptions): boolean =>
  kubeconfig !== undefined || apiserver !== undefined || context !== undefined;

function reportOf(
  found: readonly ImportedTool[],
  documents: readonly RawDocument[],
  lines: Pick<ImportReport, 'unread' | 'notes'>,
): ImportReport {
  const services = importServices(documents);
  const manifestsOf = found.flatMap((one) => one.documents).flatMap((one): readonly Manifest[] => one.manifests);
  const reported = reportAddresses(documents, manifestsOf, services.services);
  const elsewhere = requestsElsewhere(documents);
  return { tools: found, services: { ...services, services: reported.services }, addresses: reported.addresses, elsewhere, ...lines };
}

/** Classes by which Services name another load balancer. */
const knownClass = /^(?:kube-vip\.io|io\.cilium|purelb\.io|metallb)/;

/** True for Services that ask another load balancer for something, have an address, or ask for one. */
const hasRequests = ({ services: { services, classes }, addresses, elsewhere }: ImportReport): boolean =>
  services.length > 0 ||
  elsewhere.length > 0 ||
  addresses.some(({ before }) => before.length > 0) ||
  [...classes.keys()].some((name) => knownClass.test(name));

const askingNothing = ({ addresses: { length } }: ImportReport): string =>
  length === 0
    ? ''
    : `; ${length === 1 ? 'its Service' : `its ${length} Services`} of type LoadBalancer ask${length === 1 ? 's' : ''} for no address`;

function metallbCommand(context: CommandContext): Command {
  const command = new Command('metallb')
    .description(
      'convert the objects of MetalLB to manifests of Herald, with a report of the differences (exit status 0: none, 2: some, 1: an object is refused)',
    )
    .addOption(manifestsOption())
    .option('-n, --namespace <name>', 'namespace of MetalLB (default: metallb-system, or the only one in the files)')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald import metallb > herald.yaml                          from the cluster of $KUBECONFIG\n  herald import metallb -f metallb/ -o report                  what would differ\n  kubectl get -n metallb-system ipaddresspools,bgppeers,bgpadvertisements,communities,bfdprofiles,l2advertisements -o yaml |\n    herald import metallb -f - > herald.yaml\n\nNothing is changed. Services are not in the output: the report has the commands that annotate them.',
    )
    .action(async (_: unknown, self: Command) => {
      // Options that `herald import` has too arrive at either command.
      const options = self.optsWithGlobals<MetalLBOptions>();
      if (options.file !== undefined && hasCluster(options))
        throw new UsageError('use --file, or --kubeconfig, --apiserver and --context, not both', 64);
      const { inputs, problems, secrets } = await read(context, options);
      const all = inputs.flatMap(withEmbedded);
      const own = all.filter((document) => metallb.recognises(document));
      const documents = uniqueNames(importMetalLB(own, { all, namespace: options.namespace, templates: [] }, secrets));
      const tool = { tool: metallb.name, documents };
      const report = reportOf([tool], inputs, { unread: problems, notes: [] });
      write(context, options, report);
      const levels = levelsOf(report);
      context.setExitStatus(problems.length > 0 || levels.has('refused') ? 1 : levels.has('differs') ? 2 : 0);
    });
  return addCallerOptions(command).exitOverride().showHelpAfterError(hint);
}

/** Unlike the other programs, kube-proxy has no part in addresses and their announcement, so no Services are looked at. */
function kubeProxyCommand(context: CommandContext): Command {
  return new Command('kube-proxy')
    .description(
      'convert the configuration of kube-proxy to HeraldConfig and options of the agents, with a report of what is lost (exit status 0: nothing is lost, 3: something is, 1: nothing was recognised)',
    )
    .argument(
      '<paths...>',
      'files or directories with a KubeProxyConfiguration, its ConfigMap, kube-proxy-arg of k3s or RKE2, or the DaemonSet; - for standard input',
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  kubectl -n kube-system get configmap kube-proxy -o yaml | herald import kube-proxy - > herald-config.yaml\n  herald import kube-proxy /etc/rancher/k3s/config.yaml -o report\n\nNothing is changed. The options of herald agent are in the report.',
    )
    .action(async (paths: readonly string[], _: unknown, self: Command) => {
      const { documents, unread, notes = [] } = await readSources(context, paths);
      const { tools: found, templates } = importDocuments(documents, { programs: [kubeProxy] });
      const report = reportOf(found, [], { unread: [...unread, ...templates], notes });
      if (found.length === 0) {
        for (const line of report.unread) context.printError(`problem: ${line}`);
        throw new UsageError(
          `${paths.join(' and ')} has no configuration of kube-proxy: give a KubeProxyConfiguration, the ConfigMap kube-proxy of kube-system, or the DaemonSet`,
        );
      }
      finish(context, self.optsWithGlobals<OutputOptions>(), report);
    })
    .exitOverride()
    .showHelpAfterError(hint);
}

/** Writes the report, and sets the exit status by what is lost. */
function finish(context: CommandContext, options: OutputOptions, report: ImportReport): void {
  write(context, options, report);
  const levels = levelsOf(report);
  context.setExitStatus(report.unread.length > 0 || levels.has('refused') || levels.has('differs') ? 3 : 0);
}

function write(context: CommandContext, { output }: OutputOptions, report: ImportReport): void {
  if (output === 'json') context.print(jsonText(importData(report)));
  else if (output === 'report') for (const line of renderImport(report)) context.print(line);
  else {
    for (const line of manifests(report)) context.print(line);
    for (const line of renderImport(report)) context.printError(line);
  }
}

interface MetalLBInput {
  readonly inputs: readonly RawDocument[];
  readonly problems: readonly string[];
  readonly secrets: SecretsRead;
}

async function read(context: CommandContext, options: MetalLBOptions): Promise<MetalLBInput> {
  if (options.file !== undefined) {
    const { objects, problems } = await readFiles(context, options.file);
    return { inputs: objects, problems: problems.map(problemText), secrets: { all: false, forbidden: new Set() } };
  }
  const namespace = options.namespace ?? 'metallb-system';
  const { inputs, forbidden } = await readMetalLBObjects(context, options, namespace);
  if (inputs.length === 0)
    throw new UsageError(`there is no object in namespace ${namespace} of this cluster: use --namespace if MetalLB runs elsewhere`);
  return { inputs, problems: [], secrets: { all: true, forbidden } };
}

/** Also correct for readers of YAML 1.1, which take 64512:10 for a number in base 60, and yes for true. */
const yaml = { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 } as const;

function manifests({ tools: found }: ImportReport): string[] {
  const all = found.flatMap(({ documents }) => documents).flatMap((one): readonly Manifest[] => one.manifests);
  const inOrder = all.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
  return inOrder.flatMap((manifest) => ['---', stringify(manifest, yaml).trimEnd()]);
}
