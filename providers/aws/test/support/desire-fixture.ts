import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import type { Circumstances } from '../../../../providers/aws/model/circumstances.ts';
import { desireStack, stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { observeCertificates, observeFacts } from '../../../../providers/aws/observe/account/facts.ts';
import type { Desired, DesiredClassic, DesiredNlb } from '../../../../providers/aws/model/desired.ts';
import { serviceKey } from '../../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../../src/model/reasons.ts';
import { StackFixture } from './stack-fixture.ts';

addBuiltInProviders();

export interface Desire {
  readonly desired: Desired | undefined;
  readonly nlb: DesiredNlb;
  readonly classic: DesiredClassic;
  readonly errors: readonly Reason[];
  readonly warnings: readonly Reason[];
}

/** Computes what a Service desires in an account without existing resources, and its errors and warnings. */
export async function desire(member: Member, changes: Partial<Circumstances> = {}): Promise<Desire> {
  const account = new StackFixture();
  const settings = changes.settings ?? account.settings;
  const certificates = settings.certificateDiscovery ? await observeCertificates(account.cloud) : [];
  const facts = { ...(await observeFacts(account.cloud, settings)), certificates };
  const circumstances = { facts, existing: {}, settings, nodes: account.nodes, slices: () => [], refusedTargets: () => [], ...changes };
  const { desired, errors, warnings } = desireStack(stackOf(member), [member], circumstances);
  const key = serviceKey(member.service.metadata);
  return {
    desired,
    nlb: desired as DesiredNlb,
    classic: desired as DesiredClassic,
    errors: errors.get(key) ?? [],
    warnings: warnings.get(key) ?? [],
  };
}

export const codesOf = (reasons: readonly Reason[]): string[] => reasons.map(({ code }) => code);
