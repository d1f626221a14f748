import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import { importObjects, type Imported, type RawInput } from '../model/metallb/import.ts';
import { importServices } from '../model/metallb/import-services.ts';
import { decodeObjects, readRawObjects } from '../sources/directory/raw-objects.ts';
import { problemText, type SourceProblem } from '../sources/source.ts';
import { hint, UsageError, type Environment } from './environment.ts';
import { renderImport } from './import-report.ts';
import { addClusterOptions, type ClusterOptions } from './options.ts';
import { readMetalLBObjects } from './read-metallb.ts';

interface Options extends ClusterOptions {
  readonly file?: readonly string[];
  readonly namespace?: string;
  readonly output: 'yaml' | 'report';
}

/** In the order in which they are applied: what others name comes first. */
const kinds = ['Community', 'BFDProfile', 'IPAddressPool', 'BGPPeer', 'BGPAdvertisement'];

export function importCommand(environment: Environment): Command {
  const metallb = new Command('metallb')
    .description(
      'objects of MetalLB as manifests of Herald, with a report of what is not the same (exit status 0: nothing, 2: something, 1: an object is refused)',
    )
    .addOption(
      new Option('-f, --file <path>', 'a file, a directory of manifests, or - for standard input; may be given several times')
        .argParser((path: string, before: readonly string[] | undefined) => [...(before ?? []), path])
        .conflicts(['kubeconfig', 'apiserver']),
    )
    .option('--namespace <name>', 'the namespace of MetalLB (default: metallb-system, or the only one that the files have)')
    .addOption(
      new Option('-o, --output <format>', 'yaml: manifests, with the report on standard error; report: the report alone')
        .choices(['yaml', 'report'])
        .default('yaml'),
    )
    .addHelpText(
      'after',
      '\nExample:\n  herald import metallb > herald.yaml                          from the cluster of $KUBECONFIG\n  herald import metallb -f metallb/ -o report                  what would not be the same\n  kubectl get -n metallb-system ipaddresspools,bgppeers,bgpadvertisements,communities,bfdprofiles,l2advertisements -o yaml |\n    herald import metallb -f - > herald.yaml\n\nNothing is changed. Services are not in the output: the report has the commands that annotate them.',
    )
    .action(async (options: Options) => {
      const { inputs, problems } = await read(environment, options);
      const imported = importObjects(inputs, options.namespace);
      const services = importServices(inputs);
      const report = [...problems.map((problem) => `problem: ${problemText(problem)}`), ...renderImport(imported, services)];
      if (options.output === 'report') for (const line of report) environment.print(line);
      else {
        for (const line of manifests(imported)) environment.print(line);
        for (const line of report) environment.note(line);
      }
      const remarks = [...imported, ...services.services].flatMap((one) => one.remarks);
      const levels = new Set(remarks.map(({ level }) => level));
      environment.endWith(problems.length > 0 || levels.has('refused') ? 1 : levels.has('differs') ? 2 : 0);
    });
  return new Command('import')
    .description('take over the configuration of another program')
    .addCommand(addClusterOptions(metallb).exitOverride().showHelpAfterError(hint))
    .addHelpText('after', '\nExample:\n  herald import metallb -f metallb/ > herald.yaml');
}

async function read(
  environment: Environment,
  options: Options,
): Promise<{ readonly inputs: readonly RawInput[]; readonly problems: readonly SourceProblem[] }> {
  const inputs: RawInput[] = [];
  const problems: SourceProblem[] = [];
  if (options.file === undefined) {
    inputs.push(...(await readMetalLBObjects(environment, options, options.namespace ?? 'metallb-system')));
  }
  for (const path of options.file ?? []) {
    const found = path === '-' ? decodeObjects('standard input', await environment.readInput()) : await readRawObjects(path);
    inputs.push(...found.objects);
    problems.push(...found.problems);
  }
  if (inputs.length === 0 && problems.length === 0) {
    const where =
      options.file === undefined ? `namespace ${options.namespace ?? 'metallb-system'} of this cluster` : options.file.join(' and ');
    throw new UsageError(
      `there is no object in ${where}${options.file === undefined ? ': say --namespace if MetalLB runs elsewhere' : ''}`,
      1,
    );
  }
  return { inputs, problems };
}

/** For readers of YAML 1.1 as well, to whom 64512:10 is a number in base 60, and yes is true. */
const yaml = { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 } as const;

function manifests(imported: readonly Imported[]): string[] {
  const found = imported.flatMap(({ manifest }) => (manifest === undefined ? [] : [manifest]));
  const inOrder = found.toSorted((a, b) => kinds.indexOf(String(a['kind'])) - kinds.indexOf(String(b['kind'])));
  return inOrder.flatMap((manifest) => ['---', stringify(manifest, yaml).trimEnd()]);
}
