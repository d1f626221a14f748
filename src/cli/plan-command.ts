import { Command } from 'commander';
import { sessionChange } from '../agent/sessions.ts';
import { isEmptyPreview, renderPreviews, type ServicePreview } from '../explain/render-preview.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { silentLog } from '../system/log.ts';
import { addAwsOptions, type AwsFlags } from './aws-options.ts';
import { isEmptyPlan, planChanges } from '../explain/plan.ts';
import { renderPlan } from '../explain/render-plan.ts';
import { Store } from '../model/store.ts';
import type { Environment } from './environment.ts';
import { outputOption, type OutputOptions } from './options.ts';
import { problemLines, readSource } from './read-source.ts';

interface Options extends OutputOptions, AwsFlags {
  readonly file: string;
  readonly source?: string;
}

export function planCommand(environment: Environment): Command {
  const command = new Command('plan')
    .description('what would change: addresses, sessions, routes and rules (exit status 0: nothing, 2: something, 1: errors)')
    .requiredOption('-f, --file <dir>', 'directory of proposed manifests')
    .option('--source <dir>', 'directory in force, whose records of assigned addresses hold; without it everything is new')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  cp -r /etc/herald /tmp/proposed; edit /tmp/proposed/...; herald plan -f /tmp/proposed --source /etc/herald\n  herald plan -f manifests --aws-cluster-name production     and the calls to AWS; none that changes anything is made',
    )
    .action(async ({ file, source, output, ...aws }: Options) => {
      const current = source === undefined ? new Store() : (await readSource(environment, source)).snapshot;
      // What is broken in the proposal is compared as it is now: so would an edit leave it.
      const { snapshot, problems } = await (source === undefined ? readSource(environment, file) : readSource(environment, source, file));
      const plan = planChanges(current, snapshot, sessionChange);
      const previews = await previewsOf(environment, aws, current, snapshot);
      const broken = problems.some(({ severity }) => severity === 'error');
      const note = broken ? ['The proposal has errors, listed above: objects with an error are compared as they are now.'] : [];
      const lines = (): string[] => [
        ...problemLines(problems),
        ...renderPlan(plan),
        ...(previews === undefined ? [] : renderPreviews(previews)),
        ...note,
      ];
      for (const line of output === 'json'
        ? [JSON.stringify({ ...plan, ...(previews === undefined ? {} : { previews }), problems }, undefined, 2)]
        : lines())
        environment.print(line);
      // The meaning of `terraform plan -detailed-exitcode`.
      environment.endWith(broken ? 1 : isEmptyPlan(plan) && (previews ?? []).every(isEmptyPreview) ? 0 : 2);
    });
  return addAwsOptions(command);
}

/** What the providers that act outside would do, Service by Service; undefined: there is none. */
async function previewsOf(
  environment: Environment,
  aws: AwsFlags,
  current: Snapshot,
  proposed: Snapshot,
): Promise<ServicePreview[] | undefined> {
  if (aws.awsClusterName === undefined) return undefined;
  const providers = await environment.providers({ log: silentLog, post: { mayWrite: () => false }, aws });
  const previews: ServicePreview[] = [];
  for (const service of new Set([...proposed.services.keys(), ...current.services.keys()].toSorted((a, b) => (a < b ? -1 : 1)))) {
    const of = proposed.services.get(service) ?? current.services.get(service);
    const provider = providers.find((provider) => of !== undefined && provider.claim(of, proposed).mine);
    if (provider?.preview !== undefined) previews.push({ service, ...(await provider.preview(service, proposed)) });
  }
  return previews;
}
