import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { NodeRules } from '../node-rules/node-rules.ts';
import type { StackReconciler } from '../stacks/stack-reconciler.ts';
import type { StackState } from '../stacks/stack-registry.ts';

/**
 * Releases a stack, and then the node rules that only this stack needed. `service`: deletes the part of this Service even when other
 * Services still use the stack. Resolves to what remains; undefined when the release is complete. Rejects with AwsError.
 */
export async function releaseStack(
  { stacks, rules }: { readonly stacks: StackReconciler; readonly rules: NodeRules },
  state: StackState,
  snapshot: Snapshot,
  service?: ServiceKey,
): Promise<Reason | undefined> {
  const { remaining, closed } = await stacks.reconcile(state, snapshot, { kind: 'release', service });
  if (closed) await rules.reconcile(snapshot);
  return remaining;
}
