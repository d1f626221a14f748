import { Command, InvalidArgumentError, Option } from 'commander';
import { failureKinds, findFailures, type FailureKind } from '../../explain/plan/fail-on.ts';
import { jsonText, type CommandContext } from '../context/command-context.ts';
import { definitions, exampleLines } from '../context/definitions.ts';
import { addAskOptions, manifestsOption } from '../reading/open-reading.ts';
import { inForceJson } from '../reading/in-force.ts';
import { addCallerOptions, outputOption, type OutputOptions } from '../options/shared-options.ts';
import { addProviderOptions, providerOption } from '../options/provider-option.ts';
import { planLines, planOutcome, type OutsideOptions } from './plan-outcome.ts';
import { readProposal, type ProposalOptions } from './proposal.ts';

interface Options extends OutputOptions, OutsideOptions, ProposalOptions {
  readonly failOn: ReadonlySet<FailureKind>;
}

/** Exit statuses as of `terraform plan -detailed-exitcode`, and one more for pipelines. */
const status = { nothing: 0, errors: 1, changes: 2, refused: 3 } as const;

export function planCommand(context: CommandContext): Command {
  const command = new Command('plan')
    .description(
      `show what would change: ${changesText()} (exit status 0: nothing, 2: something, 1: errors, 3: something that --fail-on names)`,
    )
    .addOption(manifestsOption().makeOptionMandatory())
    .option(
      '--source <dir>',
      'compare with this directory instead of a cluster, and keep its recorded addresses; -f replaces all of its files; none: start from nothing',
    )
    .addOption(
      new Option('--offline', 'plan for a cluster that cannot be read: everything is new').conflicts([
        'source',
        'kubeconfig',
        'context',
        'apiserver',
      ]),
    )
    .addOption(
      new Option('--prune', "also delete Herald's configuration in the cluster that is not in -f").conflicts(['source', 'offline']),
    )
    .addOption(
      new Option(
        '--fail-on <changes>',
        `exit with 3 if one of these would happen, separated by commas: ${Object.keys(failureKinds()).join(', ')}`,
      )
        .argParser(readFailOn)
        .default(new Set<FailureKind>(), 'none'),
    )
    .addOption(providerOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `\nExample:\n  herald plan -f manifests/                                 applied to the cluster of $KUBECONFIG; nothing is written\n  herald plan -f manifests/ --fail-on moved-address,session-reset\n  cp -r /etc/herald /tmp/proposed; edit /tmp/proposed/...; herald plan -f /tmp/proposed --source /etc/herald\n${exampleLines('plan')}  herald plan -f manifests/ --provider /opt/acme/provider.ts     and which Services that provider would serve`,
    )
    .action((options: Options) => plan(context, options));
  return addProviderOptions(addAskOptions(addCallerOptions(command)));
}

/** Names the kinds of changes that a plan has. */
function changesText(): string {
  const kinds = ['addresses', 'sessions', 'routes', 'rules', ...definitions().flatMap(({ wording }) => wording?.planned ?? [])];
  return `${kinds.slice(0, -1).join(', ')} and ${kinds.at(-1)}`;
}

async function plan(context: CommandContext, options: Options): Promise<void> {
  const proposal = await readProposal(context, options);
  const outcome = await planOutcome(context, proposal, options).finally(() => proposal.close?.());
  const { changes, outside, isBroken, isBlind, isEmpty } = outcome;
  const { previews, providers } = outside;
  const failures = findFailures(changes, previews, options.failOn);
  if (options.output === 'json') {
    const { problems, currentErrors, unread } = proposal;
    const told = outside.telling.length === 0 ? {} : { previews };
    const served = options.provider === undefined ? {} : { providers, untold: outside.silent };
    context.print(jsonText({ ...changes, ...told, ...served, failures, problems, currentErrors, ...inForceJson(proposal), unread }));
  } else {
    for (const line of planLines(proposal, outcome, context.clock.date().getTime())) context.print(line);
  }
  for (const { kind, what } of failures) context.printError(`refused: ${kind}: ${what}`);
  const untold = previews.some((preview) => preview.failed !== undefined);
  if (isBroken || isBlind || untold) context.setExitStatus(status.errors);
  else if (failures.length > 0) context.setExitStatus(status.refused);
  else context.setExitStatus(isEmpty ? status.nothing : status.changes);
}

function readFailOn(text: string): ReadonlySet<FailureKind> {
  const kinds = Object.keys(failureKinds()) as FailureKind[];
  const named = text.split(',').map((name) => name.trim());
  const unknown = named.find((name) => !kinds.some((kind) => kind === name));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of them: write ${kinds.join(', ')}.`);
  return new Set(kinds.filter((kind) => named.includes(kind)));
}
