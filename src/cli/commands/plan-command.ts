import { Command, InvalidArgumentError, Option } from 'commander';
import { defined } from '../../lang/defined.ts';
import { sessionChange } from '../../agent/sessions/session-change.ts';
import { failureKinds, findFailures, type FailureKind } from '../../explain/plan/fail-on.ts';
import { isEmptyPlan, planChanges } from '../../explain/plan/plan.ts';
import { providerChanges, renderProviderChanges, type ProviderChange } from '../../explain/provider/provider-changes.ts';
import { isBuiltIn } from '../../explain/provider/provider.ts';
import type { ServicePreview } from '../../explain/provider/provider.ts';
import { isEmptyPreview, renderPreviews } from '../../explain/provider/render-preview.ts';
import { renderPlan } from '../../explain/plan/render-plan.ts';
import { unreadLines } from '../../explain/unread-objects.ts';
import type { UnreadableKind } from '../../model/unreadable-kind.ts';
import { silentLog } from '../../system/log.ts';
import { addAwsOptions, type AwsFlags } from '../options/aws-options.ts';
import type { CommandContext, ClaimingProvider } from '../context/command-context.ts';
import { addAskOptions, manifestsOption } from '../reading/open-reading.ts';
import { inForceJson } from '../reading/in-force.ts';
import { linesAbove, problemLines } from '../reading/problem-lines.ts';
import { addCallerOptions, outputOption, type OutputOptions } from '../options/shared-options.ts';
import { providerOption, type ProviderFlag } from '../options/provider-option.ts';
import { previewBy } from './provider-preview.ts';
import { readProposal, type Proposal, type ProposalOptions } from './proposal.ts';

interface Options extends OutputOptions, AwsFlags, ProviderFlag, ProposalOptions {
  readonly failOn: ReadonlySet<FailureKind>;
}

/** Exit statuses as of `terraform plan -detailed-exitcode`, and one more for pipelines. */
const status = { nothing: 0, errors: 1, changes: 2, refused: 3 } as const;

export function planCommand(context: CommandContext): Command {
  const command = new Command('plan')
    .description(
      'show what would change: addresses, sessions, routes, rules and AWS calls (exit status 0: nothing, 2: something, 1: errors, 3: something that --fail-on names)',
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
        `exit with 3 if one of these would happen, separated by commas: ${Object.keys(failureKinds).join(', ')}`,
      )
        .argParser(readFailOn)
        .default(new Set<FailureKind>(), 'none'),
    )
    .addOption(providerOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald plan -f manifests/                                 applied to the cluster of $KUBECONFIG; nothing is written\n  herald plan -f manifests/ --fail-on moved-address,session-reset\n  cp -r /etc/herald /tmp/proposed; edit /tmp/proposed/...; herald plan -f /tmp/proposed --source /etc/herald\n  herald plan -f manifests/ --aws-cluster-name production    with the AWS calls; calls that change something are not made\n  herald plan -f manifests/ --provider /opt/acme/provider.ts     and which Services that provider would serve',
    )
    .action((options: Options) => plan(context, options));
  return addAwsOptions(addAskOptions(addCallerOptions(command)));
}

async function plan(context: CommandContext, options: Options): Promise<void> {
  const proposal = await readProposal(context, options);
  const { current, proposed, problems, currentErrors, inForce, unread } = proposal;
  const changes = planChanges(current, proposed, sessionChange);
  const outside = await previewProviders(context, options, proposal).finally(() => proposal.close?.());
  const { previews, providers } = outside;
  const failures = findFailures(changes, previews, options.failOn);
  const broken = problems.some(({ severity }) => severity === 'error');
  const blind = unread.some(isNeeded);
  const isEmptyOutside = providers.length === 0 && previews.every(isEmptyPreview);
  if (options.output === 'json') {
    const told = outside.telling.length === 0 ? {} : { previews };
    const served = options.provider === undefined ? {} : { providers, untold: outside.silent };
    context.print(
      JSON.stringify({ ...changes, ...told, ...served, failures, problems, currentErrors, ...inForceJson(proposal), unread }, undefined, 2),
    );
  } else {
    for (const line of [
      ...linesAbove(currentErrors, { snapshot: current, now: context.clock.date().getTime(), ...defined({ inForce }) }).map((line) =>
        line === '' ? line : `now: ${line}`,
      ),
      ...problemLines(problems),
      ...unreadLines(unread),
      ...(isEmptyPlan(changes) && !isEmptyOutside ? [] : renderPlan(changes, { unsure: broken || blind })),
      ...renderProviderChanges(providers, outside.silent),
      ...renderPreviews(previews, outside.telling),
      ...(broken ? ['The proposal has errors, listed above: objects with an error are compared as they are now.'] : []),
      ...(blind ? ['Not everything could be read, as listed above: the plan may be incomplete.'] : []),
    ])
      context.print(line);
  }
  for (const { kind, what } of failures) context.printError(`refused: ${kind}: ${what}`);
  const untold = previews.some((preview) => preview.failed !== undefined);
  if (broken || blind || untold) context.setExitStatus(status.errors);
  else if (failures.length > 0) context.setExitStatus(status.refused);
  else context.setExitStatus(isEmptyPlan(changes) && isEmptyOutside ? status.nothing : status.changes);
}

/** False for Secrets and node reports: both sides of the comparison lack them, so the result is the same. */
function isNeeded({ why, kind }: UnreadableKind): boolean {
  return why === 'forbidden' && kind !== 'Secret' && kind !== 'NodeState';
}

/** The changes that providers would make outside Kubernetes: AWS if it is enabled, and providers of modules. */
interface ProviderPreviews {
  /** Services that providers of modules would serve. */
  readonly providers: readonly ProviderChange[];
  readonly previews: readonly ServicePreview[];
  /** Providers that can preview their changes, and those that cannot. */
  readonly telling: readonly string[];
  readonly silent: readonly string[];
}

async function previewProviders(context: CommandContext, options: Options, proposal: Proposal): Promise<ProviderPreviews> {
  const { awsClusterName, awsClassless, provider: modules = [] } = options;
  const claims = modules.length === 0 ? [] : await context.claims({ awsClassless, modules });
  const others = claims.filter(({ name }) => !isBuiltIn(name));
  // Built-in providers come first even when their previews are not requested: a Service that they claim belongs to no other provider.
  const first = claims.filter(({ name }) => isBuiltIn(name));
  const own =
    awsClusterName === undefined
      ? first
      : await context.providers({
          log: silentLog,
          leader: { mayWrite: () => false, ...defined({ readPod: proposal.readPod }) },
          aws: options,
        });
  const telling = others.filter(({ preview }) => preview !== undefined).map(({ name }) => name);
  return {
    providers: providerChanges(claims, proposal.current, proposal.proposed),
    previews: await previewsOf([...own, ...others], proposal),
    telling: [...(awsClusterName === undefined ? [] : ['aws']), ...telling],
    silent: others.map(({ name }) => name).filter((name) => !telling.includes(name)),
  };
}

/** Previews Service by Service. */
async function previewsOf(providers: readonly ClaimingProvider[], { current, proposed }: Proposal): Promise<ServicePreview[]> {
  const previews: ServicePreview[] = [];
  const failed = new Set<string>();
  for (const service of new Set([...proposed.services.keys(), ...current.services.keys()].toSorted((a, b) => (a < b ? -1 : 1)))) {
    const before = current.services.get(service);
    const of = proposed.services.get(service) ?? before;
    const claimant = providers.find((provider) => of !== undefined && provider.claim(of, proposed).mine);
    // A provider that holds something for the Service now would release it, whichever provider the Service has next.
    const has = (provider: ClaimingProvider): boolean =>
      before !== undefined && (provider.holds?.(service, before) === true || provider.claim(before, current).mine);
    const provider = claimant?.preview === undefined ? providers.find(has) : claimant;
    if (provider === undefined || failed.has(provider.name)) continue;
    const preview = await previewBy(provider, service, proposed);
    if (preview === undefined) continue;
    previews.push({ service, provider: provider.name, ...preview });
    // A preview that failed would fail for the next Service as well.
    if (preview.failed !== undefined) failed.add(provider.name);
  }
  return previews;
}

function readFailOn(text: string): ReadonlySet<FailureKind> {
  const kinds = Object.keys(failureKinds) as FailureKind[];
  const named = text.split(',').map((name) => name.trim());
  const unknown = named.find((name) => !kinds.some((kind) => kind === name));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is not one of them: write ${kinds.join(', ')}.`);
  return new Set(kinds.filter((kind) => named.includes(kind)));
}
