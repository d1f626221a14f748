import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { observeStack } from '../observe/observe.ts';
import { scanOwned } from '../observe/scan.ts';
import { ownObserved } from '../model/own-resources.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackRegistry, StackState } from '../stacks/stack-registry.ts';
import { withRegisteredTargets } from '../observe/registered-targets.ts';

/**
 * Finds out where everything of ours sends to that no pass has looked at: of Services that are served elsewhere by now, or nowhere, or are gone. A controller
 * that starts knows nothing of it, and nodes must let it in as long as it is there. Rejects with AwsError.
 */
export async function surveyTargets(cloud: ReadOnlyCloud, settings: AwsSettings, stacks: StackRegistry, now: () => number): Promise<void> {
  const owned = await scanOwned(cloud, settings);
  stacks.recordFound(new Map([...owned].filter(([stack]) => stacks.get(stack)?.targets === undefined)));
  for (const state of stacks.all) await state.queue.run(() => surveyStack(cloud, settings, state, now()));
}

async function surveyStack(cloud: ReadOnlyCloud, settings: AwsSettings, state: StackState, now: number): Promise<void> {
  const { clusterName: cluster, vpcId } = settings;
  const { known, identity } = state;
  if (state.targets !== undefined || known.ids.length === 0) return;
  const { observed } = await observeStack(cloud, { stack: identity.key, cluster, vpcId, known, wanted: [], wantedClassic: [], now });
  state.targets = withRegisteredTargets({ ports: [], instances: [], addresses: [] }, ownObserved(observed, cluster, identity.key));
}
