import type { Node } from '../../../../src/model/objects/cluster.ts';
import type { EndpointSlice, Endpoint } from '../../../../src/model/objects/endpoint-slice.ts';
import type { ServicePort } from '../../../../src/model/objects/service.ts';
import { formatAddress, type Address, type Family } from '../../../../src/net/address.ts';
import { parsePrefixLeniently, prefixContains } from '../../../../src/net/prefix.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { annotationTable, type AnnotationValues } from '../../annotations/table.ts';
import type { DesiredTarget } from '../../model/desired.ts';

/** Labels that exclude a node. Every value except a false one excludes, as in the service controller of Kubernetes (KEP-1143). */
const excluding = ['node.kubernetes.io/exclude-from-external-load-balancers', 'alpha.service-controller.kubernetes.io/exclude-balancer'];

/** spec.providerID of an EC2 instance: "aws:///eu-west-1a/i-0123", or the same without the zone. */
const providerIdPattern = /^aws:\/\/\/([^/]*)\/(i-[0-9a-f]+)$/;

export function machineOf({ providerID = '' }: Node): { readonly instance: string; readonly zone?: string } | undefined {
  const [, zone = '', instance] = providerIdPattern.exec(providerID) ?? [];
  return instance === undefined ? undefined : { instance, ...(zone === '' ? {} : { zone }) };
}

export function instanceOf(node: Node): string | undefined {
  return machineOf(node)?.instance;
}

/**
 * The instances that take traffic behind an NLB, sorted. Nodes that are not ready are left out, as in the AWS Load Balancer Controller. If
 * no node is ready, all are returned and AWS' health checks decide: a load balancer without targets is of no use.
 */
export function instanceTargets(nodes: Iterable<Node>, values: Pick<AnnotationValues, 'targetNodeLabels'>): string[] {
  const eligible = eligibleNodes(nodes, values);
  const ready = eligible.filter((node) => node.ready);
  return instancesOf(ready.length > 0 ? ready : eligible);
}

/**
 * The instances behind a Classic ELB, sorted. Readiness does not count, as in the cloud provider AWS (KEP-3458): a node that lost the API
 * server may still serve, and AWS' health checks see that.
 */
export function classicInstances(nodes: Iterable<Node>, values: Pick<AnnotationValues, 'targetNodeLabels'>): string[] {
  return instancesOf(eligibleNodes(nodes, values));
}

interface WithoutTargets {
  readonly of: 'node' | 'pod';
  /** No port has a target. */
  readonly all: boolean;
  /** When the last ones leave, RFC 3339. */
  readonly until: string | undefined;
}

/**
 * The reason why a Service has no targets. Names the labels of the annotation when they are the cause: those that no Node has, or all when
 * no Node has them together.
 */
export function noTargets(
  { of, all, until }: WithoutTargets,
  { targetNodeLabels: labels = {} }: Pick<AnnotationValues, 'targetNodeLabels'>,
  { nodes }: { readonly nodes: Iterable<Node> },
): Reason {
  const eligible = of === 'node' ? [...nodes].filter((node) => isEligible(node) && instanceOf(node) !== undefined) : [];
  const text = ([key, value]: [string, string]): string => (value === '' ? key : `${key}=${value}`);
  const missing = Object.entries(labels).filter(([key, value]) => !eligible.some((node) => hasLabels(node, { [key]: value })));
  const named = (missing.length > 0 ? missing : Object.entries(labels)).map(text).toSorted();
  const cause = {
    of,
    ...(eligible.length > 0 && named.length > 0 ? { labels: named.join(','), key: annotationTable.targetNodeLabels.key } : {}),
  };
  return until === undefined ? reason('AwsNoTargets', { ...cause, all }) : reason('AwsLastTargets', { ...cause, all, until });
}

function eligibleNodes(nodes: Iterable<Node>, { targetNodeLabels }: Pick<AnnotationValues, 'targetNodeLabels'>): Node[] {
  return [...nodes].filter((node) => isEligible(node) && hasLabels(node, targetNodeLabels ?? {}));
}

function instancesOf(nodes: readonly Node[]): string[] {
  return [...new Set(nodes.flatMap((node) => instanceOf(node) ?? []))].toSorted();
}

/** Instances whose nodes are being removed. */
export function departingInstances(nodes: Iterable<Node>): string[] {
  return [...nodes]
    .filter(({ metadata, toBeDeleted, disrupted }) => metadata.deleting || toBeDeleted || disrupted === true)
    .flatMap((node) => instanceOf(node) ?? []);
}

/** Addresses of terminating pods. */
export function departingPods(slices: readonly EndpointSlice[]): string[] {
  return slices.flatMap(({ endpoints }) => endpoints.filter(({ terminating }) => terminating).map(({ address }) => formatAddress(address)));
}

const computeType = 'eks.amazonaws.com/compute-type';

/** Labels that exclude nodes regardless of annotations. */
export const decidingLabels: readonly string[] = [...excluding, computeType];

function isEligible({ metadata, toBeDeleted, disrupted }: Node): boolean {
  const { labels, deleting } = metadata;
  if (deleting || toBeDeleted || disrupted === true) return false;
  if (labels[computeType] === 'fargate') return false;
  return excluding.every((key) => labels[key] === undefined || ['false', 'False', 'FALSE', 'f', 'F', '0'].includes(labels[key]));
}

/** True if the node has all the labels. An empty value only requires the label to be present. */
function hasLabels({ metadata }: Node, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => {
    const actual = metadata.labels[key];
    return actual !== undefined && (value === '' || actual === value);
  });
}

/**
 * The pods behind one port, sorted by address and port. Ready pods are returned. If there is none, terminating pods that still serve are
 * returned, as in kube-proxy (KEP-1669).
 */
export function podTargets(
  slices: readonly EndpointSlice[],
  port: ServicePort,
  family: Family,
  vpcCidrs: readonly string[],
): DesiredTarget[] {
  const vpc = vpcCidrs.flatMap((cidr) => {
    const result = parsePrefixLeniently(cidr);
    return result.ok ? [result.value] : [];
  });
  const targets = (take: (endpoint: Endpoint) => boolean): Map<string, DesiredTarget> => {
    const result = new Map<string, DesiredTarget>();
    for (const slice of slices) {
      const slicePort = slice.ports.find(({ name, protocol }) => name === port.name && protocol === port.protocol);
      if (slice.family !== family || slicePort === undefined) continue;
      for (const { address } of slice.endpoints.filter(take)) {
        const target = podTarget(address, slicePort.port, vpc);
        result.set(`${target.id} ${target.port}`, target);
      }
    }
    return result;
  };
  const ready = targets((endpoint) => endpoint.ready && !endpoint.terminating);
  const chosen = ready.size > 0 ? ready : targets(({ serving, terminating }) => serving && terminating);
  return [...chosen.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target);
}

/** AWS requires zone "all" for an address outside of the VPC. */
function podTarget(address: Address, port: number, vpc: readonly Parameters<typeof prefixContains>[0][]): DesiredTarget {
  const outside = !vpc.some((prefix) => prefixContains(prefix, address));
  return { id: formatAddress(address), port, ...(outside ? { availabilityZone: 'all' as const } : {}) };
}
