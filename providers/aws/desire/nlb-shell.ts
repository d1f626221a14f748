import { defined } from '../../../src/lang/defined.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { reason } from '../../../src/model/reasons.ts';
import type { AnnotationValues } from '../annotations/table.ts';
import type { IpAddressType, Scheme } from '../cloud/elbv2.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import type { DesiredNlb } from '../model/desired.ts';
import type { Existing } from '../model/facts.ts';
import { checkName, type Issues } from '../model/issues.ts';
import { resourceName } from '../model/resource-names.ts';
import { askedTags, ownerTags, resources, tagKeys } from '../model/tags.ts';
import { upstreamIsPublic } from './claim.ts';
import { endpointServiceOf } from './endpoint-service.ts';
import { loadBalancerAttributes } from './nlb-attributes.ts';
import { effectiveScheme } from './scheme.ts';
import { namedGroups, type Unenforced } from './security-groups.ts';
import { checkAddresses } from './subnets/check-addresses.ts';
import { chooseSubnets } from './subnets/choose-subnets.ts';
import { mapSubnets } from './subnets/map-subnets.ts';

/** The parts of an NLB that one Service decides for all: the oldest member of the stack. */
export type NlbShell = Omit<DesiredNlb, 'listeners' | 'targetGroups' | 'targetPorts' | 'securityGroups' | 'untouched'> & {
  readonly groups:
    | Exclude<DesiredNlb['securityGroups'], { kind: 'managed' }>
    | { readonly kind: 'managed'; readonly name: string; readonly backend: boolean };
  /** Why no group of Herald restricts the clients. Absent: one does. */
  readonly unenforced?: Unenforced;
};

export function nlbShell(
  { service, values }: { readonly service: Service; readonly values: AnnotationValues },
  stack: StackIdentity,
  circumstances: Circumstances,
  issues: Issues,
): NlbShell {
  const { facts, settings, existing } = circumstances;
  const adopted = values.adopt === undefined ? undefined : existing.adopted;
  if (values.adopt !== undefined && adopted === undefined) issues.error(reason('AwsAdoptedNotFound', { name: values.adopt }));
  const current = adopted ?? existing.nlb;
  const scheme = adopted?.scheme ?? effectiveScheme(values, existing.nlb, upstreamIsPublic(service), settings);
  const ipAddressType = adopted?.ipAddressType ?? effectiveAddressType(service, values);
  const present = presentNlb(existing, scheme);
  const chosen =
    adopted === undefined ? chooseSubnets(values, { scheme, ipAddressType, existing: present }, circumstances, issues) : undefined;
  const subnets = chosen === undefined ? (adopted?.subnets ?? []) : mapSubnets(chosen.subnets, values, scheme, ipAddressType, issues);
  if (chosen !== undefined) checkAddresses(subnets, facts, present, issues);
  const generated = resourceName(stack.namespace, stack.name, settings.clusterName, stack.key, 'nlb', scheme);
  // A name remains taken until the old load balancer is deleted, so its replacement needs another name.
  const replaces = existing.nlb !== undefined && existing.nlb.scheme !== scheme;
  if (!replaces && adopted === undefined) checkName(values.name, existing.nlb?.name, issues);
  const tags = { ...askedTags({ ...settings.defaultTags, ...values.tags }), ...ownerTags(settings), [tagKeys.stack]: stack.key };
  const ofEndpointService = { ...tags, [tagKeys.resource]: resources.endpointService };
  const endpointService = endpointServiceOf(values, ipAddressType, ofEndpointService, issues);
  const groups = securityGroups(values, stack, { scheme, current }, circumstances, issues);
  return {
    kind: 'nlb',
    stack: stack.key,
    name: values.name !== undefined && !replaces ? values.name : generated,
    scheme,
    ipAddressType,
    subnets,
    groups,
    ...defined({ unenforced: whyUnenforced(values, groups) }),
    tags: {
      ...tags,
      [tagKeys.resource]: resources.loadBalancer,
      ...defined({ [tagKeys.subnets]: chosen?.record }),
      ...(endpointService === undefined ? {} : { [tagKeys.endpointService]: 'true' }),
      ...(adopted === undefined ? {} : { [tagKeys.adopted]: 'true' }),
    },
    attributes: loadBalancerAttributes(values, issues),
    removesForeignListeners: values.foreignListeners === 'remove',
    ...(adopted === undefined ? {} : { adopted: adopted.arn }),
    ...defined({
      enforcePrivateLink: values.privateLinkRules,
      enablePrefixForIpv6SourceNat: values.ipv6SourceNat,
      capacityUnits: values.capacityUnits,
      endpointService,
    }),
  };
}

function securityGroups(
  values: AnnotationValues,
  stack: StackIdentity,
  { scheme, current }: { readonly scheme: Scheme; readonly current: Existing | undefined },
  { facts, settings, existing }: Circumstances,
  issues: Issues,
): NlbShell['groups'] {
  const stays = current !== undefined && (current.scheme === scheme || existing.adopted !== undefined);
  if (values.disableSecurityGroups === true) {
    if (settings.manageNodeRules && values.manageBackendRules !== false && existing.adopted === undefined)
      issues.error(reason('AwsNodesNotOpened', undefined));
    if (stays && current.hasSecurityGroups) {
      issues.error(
        reason('AwsSettingsConflict', {
          what: 'disable-nlb-sg is set, but the NLB has security groups, and AWS does not remove the last one',
        }),
      );
    }
    return { kind: 'none' };
  }
  // The owner of an adopted load balancer manages its security groups.
  if (values.adopt !== undefined && values.securityGroups === undefined) return { kind: 'none' };
  if (stays && !current.hasSecurityGroups) {
    issues.warn(reason('AwsSecurityGroupsFixed', undefined));
    return { kind: 'none' };
  }
  if (values.securityGroups !== undefined) {
    const ids = namedGroups(values.securityGroups, facts, issues);
    return { kind: 'given', ids, backend: values.manageBackendRules === true && settings.manageNodeRules };
  }
  return {
    kind: 'managed',
    name: resourceName(stack.namespace, stack.name, settings.clusterName, stack.key, 'security-group'),
    backend: settings.manageNodeRules,
  };
}

function whyUnenforced({ disableSecurityGroups, adopt }: AnnotationValues, { kind }: NlbShell['groups']): Unenforced | undefined {
  if (kind !== 'none') return kind === 'given' ? 'given' : undefined;
  if (disableSecurityGroups === true) return 'disabled';
  return adopt === undefined ? 'fixed' : 'adopted';
}

/** Dual stack if the annotation asks for it, or if the Service needs IPv6. */
function effectiveAddressType(service: Service, values: AnnotationValues): IpAddressType {
  if (values.ipAddressType !== undefined) return values.ipAddressType;
  const needsSix = service.ipFamilies[0] === 6 || (service.ipFamilyPolicy === 'RequireDualStack' && service.ipFamilies.includes(6));
  return needsSix ? 'dualstack' : 'ipv4';
}

/** Returns the NLB that the stack has with this scheme. */
export function presentNlb({ nlb, nlbs }: Circumstances['existing'], scheme: Scheme): Existing | undefined {
  return nlb?.scheme === scheme ? nlb : nlbs?.find((one) => one.scheme === scheme);
}
