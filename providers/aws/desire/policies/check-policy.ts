import { reason } from '../../../../src/model/reasons.ts';
import { annotationTable, type AnnotationName, type AnnotationValues } from '../../annotations/table.ts';
import type { Scheme } from '../../cloud/elbv2.ts';
import type { DesiredClassic, DesiredNlb } from '../../model/desired.ts';
import type { Issues } from '../../model/issues.ts';
import { allows, type AllowList, type NamespacePolicy } from './namespace-policy.ts';

/** Resources of one kind that a load balancer uses. */
interface Use {
  readonly field: AllowList;
  readonly values: readonly string[];
  /** The annotation that asks for them. "": Herald chose them. */
  readonly key: string;
  readonly isOwnChoice: boolean;
  /** The Service cannot ask for another one. */
  readonly isFixed?: true;
}

/** The security groups that a load balancer has beside those of Herald. */
type Groups =
  | { readonly kind: 'given'; readonly ids: readonly string[] }
  | { readonly kind: 'managed'; readonly extra?: readonly string[] }
  | { readonly kind: 'none' };

type Shell = Pick<DesiredNlb, 'scheme' | 'subnets' | 'endpointService'> & { readonly groups: Groups };

/** Returns what one Service decides for an NLB. The owner of an adopted NLB has decided about its scheme and its subnets. */
export function usesOfShell(values: AnnotationValues, { scheme, subnets, groups, endpointService }: Shell, defaultScheme: Scheme): Use[] {
  const named = (name: 'adopt' | 'eipAllocations' | 'allowedPrincipals', field: AllowList, all: readonly string[] = []): Use => ({
    field,
    values: all,
    key: annotationTable[name].key,
    isOwnChoice: false,
  });
  const own = [...usesOfGroups(values, groups), named('allowedPrincipals', 'principals', endpointService?.principals)];
  if (values.adopt !== undefined) return [named('adopt', 'loadBalancers', [values.adopt]), ...own];
  const ids = subnets.map(({ SubnetId }) => SubnetId);
  return [...usesOfPlace(values, scheme, ids, defaultScheme), named('eipAllocations', 'eipAllocations', values.eipAllocations), ...own];
}

/** Returns the tags that a Service sets on its resources. */
export function usesOfTags({ tags = {} }: AnnotationValues): Use[] {
  return [{ field: 'tagKeys', values: Object.keys(tags), key: annotationTable.tags.key, isOwnChoice: false }];
}

/** Returns the settings of a load balancer that cost money, write elsewhere, or outlive the Service. */
export function usesOfSettings({ accessLogBucket, attributes = {}, capacityUnits = 0 }: AnnotationValues): Use[] {
  const { key } = annotationTable.attributes;
  const bucket = attributes['access_logs.s3.bucket'];
  const protection = 'deletion_protection.enabled';
  const common = { isOwnChoice: false } as const;
  return [
    {
      ...common,
      field: 'logBuckets',
      values: accessLogBucket === undefined ? [] : [accessLogBucket],
      key: annotationTable.accessLogBucket.key,
    },
    { ...common, field: 'logBuckets', values: bucket === undefined ? [] : [bucket], key },
    { ...common, field: 'deletionProtection', values: attributes[protection] === 'true' ? [`${protection}=true`] : [], key },
    {
      ...common,
      field: 'maximumCapacityUnits',
      values: capacityUnits > 0 ? [`${capacityUnits}`] : [],
      key: annotationTable.capacityUnits.key,
    },
  ];
}

/** Returns what a Service of another namespace takes part in when it shares an NLB. Of the NLB, only the scheme concerns its clients. */
export function usesOfGuest({ scheme }: Pick<Shell, 'scheme'>, defaultScheme: Scheme): Use[] {
  const key = annotationTable.sharedWith.key;
  return [{ field: 'schemes', values: [scheme], key, isOwnChoice: scheme === defaultScheme, isFixed: true }];
}

export function usesOfClassic(values: AnnotationValues, desired: DesiredClassic, defaultScheme: Scheme): Use[] {
  const { scheme, subnets, securityGroups, listeners } = desired;
  const certificates = listeners.flatMap(({ SSLCertificateId }) => SSLCertificateId ?? []);
  return [
    ...usesOfPlace(values, scheme, subnets, defaultScheme),
    ...usesOfGroups(values, securityGroups),
    ...usesOfCertificates(values, certificates),
  ];
}

/** Returns the certificates that the Service names, whether a port uses them or not, and those that were found by host name. */
export function usesOfCertificates({ certificates = [], certificateOfPort }: AnnotationValues, used: readonly string[]): Use[] {
  const ofPorts = [...certificateOfPort].map(([port, arns]) => ({ key: `${annotationTable.certificateOfPort.key}.${port}`, values: arns }));
  const written = new Set([...certificates, ...ofPorts.flatMap(({ values }) => values)]);
  const found = used.filter((arn) => !written.has(arn));
  return [
    { key: annotationTable.certificates.key, values: certificates },
    ...ofPorts,
    { key: annotationTable.certificateHosts.key, values: found },
  ].map((one) => ({ ...one, field: 'certificates', isOwnChoice: false }));
}

/** Returns the ALBs to which the Service sends. */
export function usesOfAlbs({ albTarget, albTargetOfPort }: AnnotationValues): Use[] {
  const { key } = annotationTable.albTarget;
  const common = { field: 'loadBalancers', isOwnChoice: false } as const;
  return [
    { ...common, values: albTarget === undefined ? [] : [albTarget], key },
    ...[...albTargetOfPort].map(([port, alb]) => ({ ...common, values: [alb], key: `${key}.${port}` })),
  ];
}

/** Returns the target groups of other owners in which the Service registers its targets. */
export function usesOfTargetGroups(ports: readonly { readonly key: string; readonly arn: string }[]): Use[] {
  return ports.map(({ key, arn }) => ({ field: 'targetGroups', values: [arn], key, isOwnChoice: false }));
}

/** Returns the target groups of other owners to which the listeners of the Service send. */
export function usesOfWeights({ weightedActions }: AnnotationValues): Use[] {
  return [...weightedActions].map(([member, { others }]) => ({
    field: 'targetGroups',
    values: others.flatMap((one) => ('arn' in one ? [one.arn] : [])),
    key: `${annotationTable.weightedActions.key}.${member}`,
    isOwnChoice: false,
  }));
}

/** Reports what no policy of the namespace allows, one error for each annotation. */
export function checkPolicy(policy: NamespacePolicy | undefined, uses: readonly Use[], issues: Issues): void {
  if (policy === undefined) return;
  const { namespace, policies } = policy;
  for (const { field, values, key, isOwnChoice, isFixed } of uses) {
    const refused = [...new Set(values)].filter((value) => !allows(policy, field, value, isOwnChoice));
    if (refused.length === 0) continue;
    const { what, name } = nouns[field];
    const allowed = [...new Set(policies.flatMap((one): readonly string[] => allowedBy(one[field])))];
    issues.error(
      reason('AwsNotAllowed', {
        field,
        what,
        namespace,
        key,
        annotation: key === '' ? annotationTable[name].key : key,
        refused: refused.join(', '),
        allowed: isFixed ? '' : shortList(allowed),
        isSetting: policies.some((one) => !Array.isArray(one[field])),
        policies: policies.map((one) => one.name).join(', '),
      }),
    );
  }
}

function allowedBy(value: readonly string[] | boolean | number): readonly string[] {
  if (typeof value === 'number') return value === 0 ? [] : [`CapacityUnits=${value}`];
  return typeof value === 'boolean' ? [] : value;
}

const nouns: Readonly<Record<AllowList, { readonly what: string; readonly name: AnnotationName }>> = {
  securityGroups: { what: 'security group', name: 'securityGroups' },
  subnets: { what: 'subnet', name: 'subnets' },
  eipAllocations: { what: 'Elastic IP', name: 'eipAllocations' },
  certificates: { what: 'certificate', name: 'certificates' },
  schemes: { what: 'scheme', name: 'scheme' },
  loadBalancers: { what: 'load balancer', name: 'adopt' },
  principals: { what: 'principal', name: 'allowedPrincipals' },
  targetGroups: { what: 'target group', name: 'targetGroup' },
  logBuckets: { what: 'log bucket', name: 'accessLogBucket' },
  tagKeys: { what: 'tag', name: 'tags' },
  deletionProtection: { what: 'attribute', name: 'attributes' },
  maximumCapacityUnits: { what: 'reserved capacity', name: 'capacityUnits' },
};

/** Names a few, because a condition has little room. */
function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} or one of ${names.length - 5} others` : shown;
}

function usesOfPlace(values: AnnotationValues, scheme: Scheme, subnets: readonly string[], defaultScheme: Scheme): Use[] {
  const schemeKey =
    values.scheme !== undefined ? annotationTable.scheme.key : values.internal === undefined ? '' : annotationTable.internal.key;
  const areNamed = values.subnets !== undefined;
  return [
    { field: 'schemes', values: [scheme], key: schemeKey, isOwnChoice: scheme === defaultScheme },
    { field: 'subnets', values: subnets, key: areNamed ? annotationTable.subnets.key : '', isOwnChoice: !areNamed },
  ];
}

/** Security groups that Herald makes are always allowed. */
function usesOfGroups({ securityGroups, extraSecurityGroups = [] }: AnnotationValues, groups: Groups): Use[] {
  const ids = groups.kind === 'given' ? groups.ids : groups.kind === 'managed' ? (groups.extra ?? []) : [];
  const isExtra = (id: string): boolean => securityGroups === undefined || extraSecurityGroups.includes(id);
  const common = { field: 'securityGroups', isOwnChoice: false } as const;
  return [
    { ...common, values: ids.filter((id) => !isExtra(id)), key: annotationTable.securityGroups.key },
    { ...common, values: ids.filter(isExtra), key: annotationTable.extraSecurityGroups.key },
  ];
}
