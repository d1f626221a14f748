import { namespaceLabels } from '../../../../src/decisions/namespace-labels.ts';
import { selects } from '../../../../src/model/objects/label-selector.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import type { Facts } from '../../model/facts.ts';
import { awsConfig, type AwsPolicy } from '../../tables/config/config.ts';
import { everyOne } from '../../tables/config/grammars.ts';

/** The policies of HeraldConfig (`spec.aws.policies`) that apply to the Services of one namespace. */
export interface NamespacePolicy {
  readonly namespace: string;
  /** The policies that select the namespace. Empty: its labels are not known yet, so nothing is allowed that a Service names. */
  readonly policies: readonly AwsPolicy[];
}

export type AllowList = Exclude<keyof AwsPolicy, 'name' | 'namespaceSelector'>;

/** Returns what the Services of a namespace may ask for. Undefined: everything, because no policy selects the namespace. */
export function policyOf(namespace: string, snapshot: Snapshot): NamespacePolicy | undefined {
  const { policies: all } = awsConfig.of(snapshot.config);
  if (all.length === 0) return undefined;
  // In a cluster a Service may be read before its Namespace. A directory may have no Namespaces at all.
  if (snapshot.namespaces.size > 0 && !snapshot.namespaces.has(namespace)) return { namespace, policies: [] };
  const labels = namespaceLabels(snapshot, namespace);
  const policies = all.filter(({ namespaceSelector }) => selects(namespaceSelector, labels));
  return policies.length === 0 ? undefined : { namespace, policies };
}

/**
 * Returns true if one of the policies allows the value. `isOwnChoice`: Herald chose it, not the Service. The operator decides what Herald
 * chooses, so a policy whose list is not set allows it.
 */
export function allows({ policies }: NamespacePolicy, field: AllowList, value: string, isOwnChoice: boolean): boolean {
  if (policies.length === 0) return isOwnChoice;
  return policies.some((policy) => {
    const listed: readonly string[] | boolean | number = policy[field];
    if (typeof listed === 'boolean') return listed;
    if (typeof listed === 'number') return Number(value) <= listed;
    return listed.length === 0 ? isOwnChoice : listed.some((entry) => entry === everyOne || entry === value || isNameOf(entry, value));
  });
}

/** Marks the subnets that must not be discovered for Services of the namespace. */
export function withRefusedSubnets(facts: Facts, policy: NamespacePolicy | undefined): Facts {
  if (policy === undefined) return facts;
  const subnets = facts.subnets.map((subnet) =>
    allows(policy, 'subnets', subnet.id, true) ? subnet : { ...subnet, isRefused: true as const },
  );
  return { ...facts, subnets };
}

/** True if one is the name and the other the ARN of an NLB or ALB. AWS allows a name once in a region. */
function isNameOf(entry: string, value: string): boolean {
  if (!entry.includes(':loadbalancer/') && !value.includes(':loadbalancer/')) return false;
  const [, ofEntry] = balancerArn.exec(entry) ?? [];
  const [, ofValue] = balancerArn.exec(value) ?? [];
  return (ofEntry !== undefined && ofEntry === value) || (ofValue !== undefined && ofValue === entry);
}

const balancerArn = /:loadbalancer\/(?:net|app)\/([^/]+)\//;
