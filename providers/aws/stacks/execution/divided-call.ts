import type { Cloud } from '../../cloud/cloud.ts';
import { AwsError, type AwsErrorCode } from '../../cloud/error.ts';
import type { Input, WriteOperation } from '../../cloud/operations.ts';
import { limits } from '../../model/limits.ts';

/** Entries of one call that AWS has refused, and why. */
export interface RefusedPart {
  readonly entries: readonly unknown[];
  readonly error: AwsError;
}

interface Division {
  /** The field of the input with the entries. */
  readonly field: string;
  /** True if actions that need this one may be tried although AWS has refused some of the entries. */
  readonly isEnough: boolean;
  /** Refusals that may concern single entries. */
  readonly codes: ReadonlySet<AwsErrorCode>;
}

const ofTargets = { field: 'Targets', isEnough: true, codes: new Set<AwsErrorCode>(['invalid', 'quota', 'duplicate', 'other']) };
const ofInstances = { ...ofTargets, field: 'Instances' };
// Rules that exceed the quota stay together: old ones are not removed for a part of the new ones.
const ofRules = { field: 'IpPermissions', isEnough: false, codes: new Set<AwsErrorCode>(['invalid', 'duplicate', 'other']) };
const ofAttributes = { ...ofRules, field: 'Attributes' };

/** AWS refuses these calls as a whole because of one entry, and the entries are independent. */
const divisions: Readonly<Partial<Record<WriteOperation, Division>>> = {
  'elbv2:RegisterTargets': ofTargets,
  'elbv2:DeregisterTargets': ofTargets,
  'elb:RegisterInstancesWithLoadBalancer': ofInstances,
  'elb:DeregisterInstancesFromLoadBalancer': ofInstances,
  'ec2:AuthorizeSecurityGroupIngress': ofRules,
  'ec2:RevokeSecurityGroupIngress': ofRules,
  'elbv2:ModifyLoadBalancerAttributes': ofAttributes,
  'elbv2:ModifyListenerAttributes': ofAttributes,
  'elbv2:ModifyTargetGroupAttributes': ofAttributes,
};

export function divisionOf(operation: WriteOperation): Division | undefined {
  return divisions[operation];
}

export function entriesOf(operation: WriteOperation, input: object): readonly unknown[] {
  const field = divisions[operation]?.field;
  const entries = field === undefined ? undefined : (input as Readonly<Record<string, unknown>>)[field];
  return Array.isArray(entries) ? (entries as readonly unknown[]) : [];
}

/** True if the call may succeed for a part of its entries. */
export function isDivisible(operation: WriteOperation, input: object, error: AwsError): boolean {
  if (entriesOf(operation, input).length === 0) return false;
  // AWS does not know one of the targets or rules that shall go. The others are still there.
  const isRemoval = /:(?:Deregister|Revoke)/.test(operation);
  return divisions[operation]?.codes.has(error.code) === true || (isRemoval && error.code === 'notFound');
}

/**
 * Repeats a refused call with parts of its entries until it is known which of them AWS refuses. Resolves to these; to none when the entries
 * have been accepted in parts. The number of calls is bounded: what is left then counts as refused. Rejects like a call when an error does
 * not concern single entries.
 */
export async function divideCall(
  cloud: Cloud,
  operation: WriteOperation,
  input: Input<WriteOperation>,
  error: AwsError,
): Promise<readonly RefusedPart[]> {
  const field = divisions[operation]?.field ?? '';
  const refused: RefusedPart[] = [];
  let calls: number = limits.dividedCalls;
  const divide = async (entries: readonly unknown[], why: AwsError): Promise<void> => {
    const parts = calls > 1 ? partsOf(entries, why.message) : [];
    if (parts.length === 0) refused.push({ entries, error: why });
    for (const part of parts) {
      calls--;
      try {
        await cloud.call(operation, { ...input, [field]: part });
      } catch (thrown) {
        if (!(thrown instanceof AwsError) || !isDivisible(operation, input, thrown)) throw thrown;
        await divide(part, thrown);
      }
    }
  };
  await divide(entriesOf(operation, input), error);
  return refused;
}

/** Halves; first those entries apart that AWS names in its message, which only makes the search shorter. None: there is one entry. */
function partsOf(entries: readonly unknown[], message: string): readonly (readonly unknown[])[] {
  if (entries.length < 2) return [];
  const named = entries.filter((entry) => message.includes(idOf(entry)));
  if (named.length > 0 && named.length < entries.length) return [entries.filter((entry) => !named.includes(entry)), named];
  const middle = Math.ceil(entries.length / 2);
  return [entries.slice(0, middle), entries.slice(middle)];
}

function idOf(entry: unknown): string {
  const { Id, InstanceId, Key } = entry as { readonly Id?: string; readonly InstanceId?: string; readonly Key?: string };
  return Id ?? InstanceId ?? Key ?? JSON.stringify(entry);
}
