import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { observeStack } from '../observe/observe.ts';
import { scanOwned } from '../observe/scan.ts';
import { ownObserved } from '../model/own-resources.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackRegistry, StackState } from '../stacks/stack-registry.ts';
import { withRegisteredTargets } from '../observe/registered-targets.ts';

/**
 * Records in `registry` the registered targets of all stacks that no reconcile has read since the controller started. The Services of these
 * stacks were deleted or are served by another load balancer. Nodes must admit a load balancer as long as it exists. Rejects with AwsError.
 */
export async function surveyTargets(
  cloud: ReadOnlyCloud,
  settings: AwsSettings,
  registry: StackRegistry,
  now: () => number,
): Promise<void> {
  const owned = await scanOwned(cloud, settings);
  registry.recordFound(new Map([...owned].filter(([stack]) => registry.get(stack)?.targets === undefined)));
  for (const state of registry.all) await state.queue.run(() => surveyStack(cloud, settings, state, now()));
}

async function surveyStack(cloud: ReadOnlyCloud, settings: AwsSettings, state: StackState, now: number): Promise<void> {
  const { clusterName: cluster, vpcId } = settings;
  const { known, identity } = state;
  if (state.targets !== undefined || known.ids.length === 0) return;
  const { observed } = await observeStack(cloud, { stack: identity.key, cluster, vpcId, known, wanted: [], wantedClassic: [], now });
  state.targets = withRegisteredTargets({ ports: [], instances: [], addresses: [] }, ownObserved(observed, cluster, identity.key));
}
