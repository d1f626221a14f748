import { defined } from '../../../lang/defined.ts';
import { formatAddress, parseAddressLeniently, type Address, type Family } from '../../../net/address.ts';
import { parsePrefixLeniently, type Prefix } from '../../../net/prefix.ts';
import { annotations, labels } from '../../annotations.ts';
import { limits } from '../../limits.ts';
import type { Service } from '../../objects/service.ts';
import { isLabelName, readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';
import { readIngress } from './load-balancer-ingress.ts';
import { readConditionRecord } from './service-record.ts';
import { readAnnouncement, readBalancing, readSwitch } from './service-annotations.ts';
import { readClusterAddresses } from './service-addresses.ts';
import { readServicePorts } from './service-ports.ts';
import { readRequest } from './service-request.ts';
import { specialAddress } from '../../reading/special-address.ts';

/** Reads a core/v1 Service with the defaults and checks of the API server (pkg/apis/core/validation, Kubernetes 1.36). */
export function readService(fields: FieldReader, options: ParseOptions): ReadResult<Service> {
  const metadata = readMetadata(fields, 'Service', 'namespaced', options);
  if (metadata !== undefined && !isLabelName(metadata.name)) {
    fields.problem(['metadata', 'name'], 'is not a name of a Service', 'use at most 63 lower case letters, digits and "-"');
  }
  const spec = fields.object('spec');
  const type = spec.oneOf('type', ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']) ?? 'ClusterIP';
  if (type === 'ExternalName') spec.require('externalName', 'write the DNS name that the Service is an alias of');
  const addresses = readClusterAddresses(spec, type, options);
  const ports = readServicePorts(spec, type, addresses.headless, options);
  const selector = spec.textMap('selector');
  const externalIPs = readExternalIPs(spec);
  const external = type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && externalIPs.length > 0);
  const affinitySeconds = readAffinity(spec);
  const loadBalancer = readLoadBalancerFields(spec, type);
  const request = readRequest(fields, spec, metadata?.annotations ?? {});
  const externalTrafficPolicy = spec.oneOf('externalTrafficPolicy', ['Cluster', 'Local']);
  if (externalTrafficPolicy !== undefined && !external) {
    spec.problem('externalTrafficPolicy', 'is only for Services that are reached from outside', 'remove it, or set spec.type');
  }
  const healthCheckNodePort = spec.integer('healthCheckNodePort', 0, 65_535) ?? 0;
  if (healthCheckNodePort !== 0 && (type !== 'LoadBalancer' || externalTrafficPolicy !== 'Local')) {
    spec.problem('healthCheckNodePort', 'is only for type LoadBalancer with externalTrafficPolicy Local', 'remove it');
  }
  const internalTrafficPolicy = spec.oneOf('internalTrafficPolicy', ['Cluster', 'Local']) ?? 'Cluster';
  const balancing = readBalancing(fields, metadata?.annotations ?? {});
  const status = fields.object('status');
  const ingress = readIngress(status.object('loadBalancer'));
  if (metadata === undefined) return {};
  const directReturn = readSwitch(fields, metadata.annotations, annotations.directReturn);
  const resetOnRemoval = readSwitch(fields, metadata.annotations, annotations.resetOnRemoval);
  const icmpEcho = readSwitch(fields, metadata.annotations, annotations.icmpEcho);
  const announcement = readAnnouncement(fields, metadata.annotations);
  const proxy = metadata.labels[labels.serviceProxyName];
  return {
    object: {
      kind: 'Service',
      metadata: options.forAgent ? { ...metadata, annotations: {} } : metadata,
      type,
      ...addresses,
      ports,
      hasSelector: Object.keys(selector).length > 0,
      selectorText: Object.entries(selector)
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(','),
      externalIPs,
      externalTrafficPolicy: externalTrafficPolicy ?? 'Cluster',
      internalTrafficPolicy,
      ...defined({ affinitySeconds }),
      ...request,
      ...balancing,
      ...announcement,
      ...defined({ directReturn, icmpEcho, resetOnRemoval }),
      ...loadBalancer,
      healthCheckNodePort,
      ...defined({ serviceProxyName: proxy }),
      ingress,
      ...readConditionRecord(status.raw('conditions')),
    },
  };
}

function readExternalIPs(spec: FieldReader): Address[] {
  const addresses = new Map<string, Address>();
  for (const address of spec.parsedList('externalIPs', limits.externalIPs, parseAddressLeniently)) {
    const special = specialAddress(address);
    if (special !== undefined)
      spec.problem('externalIPs', `${formatAddress(address)} is ${special}`, 'use an address that clients can reach');
    addresses.set(formatAddress(address), address);
  }
  return [...addresses.values()];
}

/** Reads the affinity timeout. The API server's default for ClientIP is three hours. */
function readAffinity(spec: FieldReader): number | undefined {
  const affinity = spec.oneOf('sessionAffinity', ['None', 'ClientIP']) ?? 'None';
  const configured = spec.object('sessionAffinityConfig').object('clientIP').integer('timeoutSeconds', 1, 86_400);
  if (affinity === 'ClientIP') return configured ?? 10_800;
  if (configured !== undefined) spec.problem('sessionAffinityConfig', 'must not be set when sessionAffinity is None', 'remove it');
  return undefined;
}

type LoadBalancerFields = Pick<Service, 'loadBalancerClass' | 'loadBalancerSourceRanges' | 'allocateLoadBalancerNodePorts'>;

function readLoadBalancerFields(spec: FieldReader, type: Service['type']): LoadBalancerFields {
  const loadBalancerClass = spec.text('loadBalancerClass');
  const ranges = spec.parsedList('loadBalancerSourceRanges', limits.sourceRanges, (text) => parsePrefixLeniently(text.trim()));
  const allocate = spec.boolean('allocateLoadBalancerNodePorts');
  if (type !== 'LoadBalancer') {
    for (const name of ['loadBalancerClass', 'loadBalancerSourceRanges', 'allocateLoadBalancerNodePorts']) {
      const empty = name === 'loadBalancerSourceRanges' && ranges.length === 0;
      if (spec.has(name) && !empty) spec.problem(name, 'is only for type LoadBalancer', 'remove it, or set spec.type: LoadBalancer');
    }
  }
  return {
    ...defined({ loadBalancerClass }),
    loadBalancerSourceRanges: withoutOpenFamilies(ranges),
    allocateLoadBalancerNodePorts: allocate ?? true,
  };
}

/** Drops the ranges of a family that has a range of length 0: that family is not restricted. */
function withoutOpenFamilies(ranges: readonly Prefix[]): Prefix[] {
  const open = new Set<Family>(ranges.filter(({ length }) => length === 0).map(({ address }) => address.family));
  return ranges.filter(({ address }) => !open.has(address.family));
}
