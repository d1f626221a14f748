import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import { importObjects, type Imported, type RawInput } from '../../../model/metallb/import.ts';
import { importServices } from '../../../model/metallb/import-services.ts';
import { problemText, type SourceProblem } from '../../../sources/source.ts';
import { jsonText, hint, UsageError, type CommandContext } from '../../context/command-context.ts';
import { checkAcross, type SecretsRead } from './across-objects.ts';
import { importData, renderImport } from './import-report.ts';
import { addCallerOptions, type CallerOptions } from '../../options/shared-options.ts';
import { manifestsOption } from '../../reading/open-reading.ts';
import { readFiles } from '../../reading/read-manifests.ts';
import { readMetalLBObjects } from './read-metallb.ts';

interface Options extends CallerOptions {
  readonly file?: readonly string[];
  readonly namespace?: string;
  readonly output: 'yaml' | 'report' | 'json';
}

/** In the order in which they are applied: referenced objects come first. */
const kinds = ['Community', 'BFDProfile', 'IPAddressPool', 'BGPPeer', 'BGPAdvertisement', 'L2Advertisement'];

export function importCommand(context: CommandContext): Command {
  const metallb = new Command('metallb')
    .description(
      'convert the objects of MetalLB to manifests of Herald, with a report of the differences (exit status 0: none, 2: some, 1: an object is refused)',
    )
    .addOption(manifestsOption().conflicts(['kubeconfig', 'apiserver', 'context']))
    .option('-n, --namespace <name>', 'namespace of MetalLB (default: metallb-system, or the only one in the files)')
    .addOption(
      new Option(
        '-o, --output <format>',
        'yaml: manifests, with the report on standard error; report: only the report; json: the report as data',
      )
        .choices(['yaml', 'report', 'json'])
        .default('yaml'),
    )
    .addHelpText(
      'after',
      '\nExample:\n  herald import metallb > herald.yaml                          from the cluster of $KUBECONFIG\n  herald import metallb -f metallb/ -o report                  what would differ\n  kubectl get -n metallb-system ipaddresspools,bgppeers,bgpadvertisements,communities,bfdprofiles,l2advertisements -o yaml |\n    herald import metallb -f - > herald.yaml\n\nNothing is changed. Services are not in the output: the report has the commands that annotate them.',
    )
    .action(async (options: Options) => {
      const { inputs, problems, secrets } = await read(context, options);
      const imported = checkAcross(importObjects(inputs, options.namespace), inputs, secrets);
      const services = importServices(inputs);
      const report = [...problems.map((problem) => `problem: ${problemText(problem)}`), ...renderImport(imported, services)];
      if (options.output === 'json') context.print(jsonText(importData(imported, services, problems)));
      else if (options.output === 'report') for (const line of report) context.print(line);
      else {
        for (const line of manifests(imported)) context.print(line);
        for (const line of report) context.printError(line);
      }
      const remarks = [...imported, ...services.services].flatMap((one) => one.remarks);
      const levels = new Set(remarks.map(({ level }) => level));
      context.setExitStatus(problems.length > 0 || levels.has('refused') ? 1 : levels.has('differs') ? 2 : 0);
    });
  return new Command('import')
    .description('import the configuration of another program')
    .addCommand(addCallerOptions(metallb).exitOverride().showHelpAfterError(hint))
    .addHelpText('after', '\nExample:\n  herald import metallb -f metallb/ > herald.yaml');
}

async function read(
  context: CommandContext,
  options: Options,
): Promise<{ readonly inputs: readonly RawInput[]; readonly problems: readonly SourceProblem[]; readonly secrets: SecretsRead }> {
  if (options.file !== undefined) {
    const { objects, problems } = await readFiles(context, options.file);
    return { inputs: objects, problems, secrets: { all: false, forbidden: new Set() } };
  }
  const namespace = options.namespace ?? 'metallb-system';
  const { inputs, forbidden } = await readMetalLBObjects(context, options, namespace);
  if (inputs.length === 0)
    throw new UsageError(`there is no object in namespace ${namespace} of this cluster: use --namespace if MetalLB runs elsewhere`);
  return { inputs, problems: [], secrets: { all: true, forbidden } };
}

/** Also correct for readers of YAML 1.1, which take 64512:10 for a number in base 60, and yes for true. */
const yaml = { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 } as const;

function manifests(imported: readonly Imported[]): string[] {
  const found = imported.flatMap(({ manifest }) => (manifest === undefined ? [] : [manifest]));
  const inOrder = found.toSorted((a, b) => kinds.indexOf(String(a['kind'])) - kinds.indexOf(String(b['kind'])));
  return inOrder.flatMap((manifest) => ['---', stringify(manifest, yaml).trimEnd()]);
}
