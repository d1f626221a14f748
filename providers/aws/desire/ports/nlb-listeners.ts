import { reason } from '../../../../src/model/reasons.ts';
import { serviceKey } from '../../../../src/model/objects/metadata.ts';
import type { Service, ServicePort } from '../../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../../annotations/table.ts';
import type { NlbProtocol, TargetType } from '../../cloud/elbv2.ts';
import type { AlbTarget } from '../../model/targets/alb.ts';
import type { AwsSettings } from '../../model/settings.ts';
import { albTargetOf, namedAlbOfPorts } from './alb-targets.ts';
import { checkKeys, checkUsable } from './certificates.ts';
import { portEncryption, portsNamed, type PortEncryption } from './encryption.ts';
import type { Circumstances } from '../../model/circumstances.ts';
import type { Issues } from '../../model/issues.ts';

/** One listener of an NLB and the protocol of its targets, before names and tags are added. */
export interface NlbPort {
  /** The port of the Service. If TCP and UDP share the listener, this is the TCP port. */
  readonly servicePort: ServicePort;
  readonly protocol: NlbProtocol;
  readonly targetProtocol: NlbProtocol;
  readonly certificates: readonly string[];
  /** The ALB to which it sends, in place of nodes or pods. */
  readonly alb?: AlbTarget;
}

interface AnnotatedService {
  readonly service: Service;
  readonly values: AnnotationValues;
}

/**
 * Returns the listener for each port number, with its protocol and that of its targets. TCP and UDP on one number become one listener.
 * `isNew`: the load balancer does not exist yet.
 */
export function nlbPorts(
  { service, values }: AnnotatedService,
  { facts, settings }: Pick<Circumstances, 'facts' | 'settings'>,
  { targetType, isNew }: { readonly targetType: TargetType; readonly isNew: boolean },
  issues: Issues,
): NlbPort[] {
  const encryption = portEncryption(service, values, facts, settings, issues);
  const byNumber = Map.groupBy(service.ports, ({ port }) => port);
  const albs = namedAlbOfPorts(service, values, issues);
  const where = { albs: facts.albs, vpcId: settings.vpcId, region: settings.region };
  const all = [...byNumber].flatMap(([number, ports]): NlbPort[] => {
    const named = albs.get(number);
    const given = { targetType: named === undefined ? targetType : ('alb' as const), encryption, settings };
    const one = onePort({ service, values }, ports, given, issues);
    if (one === undefined || named === undefined) return one === undefined ? [] : [one];
    const listener = { ports, isEncrypted: one.certificates.length > 0, family: service.ipFamilies[0] ?? 4 };
    const alb = albTargetOf(named, listener, where, issues);
    return alb === undefined ? [] : [{ ...one, alb }];
  });
  for (const { certificates, servicePort } of all) {
    checkUsable(certificates, servicePort.port, { region: settings.region, keys: facts.keys, isNew }, issues);
    checkKeys(certificates, facts.keys, issues);
  }
  return all;
}

interface PortInput {
  readonly targetType: TargetType;
  readonly encryption: (port: ServicePort) => PortEncryption;
  readonly settings: AwsSettings;
}

function onePort(
  { service, values }: AnnotatedService,
  ports: readonly ServicePort[],
  { targetType, encryption, settings }: PortInput,
  issues: Issues,
): NlbPort | undefined {
  const other = ports.find(({ protocol }) => protocol !== 'TCP' && protocol !== 'UDP');
  if (other !== undefined) {
    issues.error(reason('AwsProtocolUnsupported', { port: other.port, protocol: other.protocol, kind: 'nlb' }));
    return undefined;
  }
  const tcp = ports.find(({ protocol }) => protocol === 'TCP');
  const udp = ports.find(({ protocol }) => protocol === 'UDP');
  const servicePort = tcp ?? udp;
  if (servicePort === undefined) return undefined;
  if (targetType === 'instance')
    for (const { nodePort, port } of ports) if (nodePort === 0) issues.error(reason('AwsNodePortMissing', { port }));
  const isQuicPort = values.quicPorts?.some((item) => portsNamed(service, item).some(({ port }) => port === servicePort.port)) === true;
  if (tcp === undefined) return plain(servicePort, isQuicPort ? 'QUIC' : 'UDP');
  const { certificates, backend } = encryption(tcp);
  if (udp !== undefined) {
    const why = whyNotOne(tcp, udp, targetType, certificates.length > 0, values.tcpUdp ?? true);
    if (why !== undefined) issues.error(reason('AwsPortsCollide', { port: tcp.port, why }));
    return plain(servicePort, isQuicPort ? 'TCP_QUIC' : 'TCP_UDP');
  }
  if (backend === 'http') issues.warn(reason('AwsBackendHttpOnNlb', undefined));
  if (certificates.length === 0) return { servicePort, protocol: 'TCP', targetProtocol: 'TCP', certificates };
  if (backend === 'https' && !settings.upstreamBackendHttps) issues.error(reason('AwsBackendHttpsOnNlb', undefined));
  return { servicePort, protocol: 'TLS', targetProtocol: backend === 'ssl' ? 'TLS' : 'TCP', certificates };
}

function plain(servicePort: ServicePort, protocol: NlbProtocol): NlbPort {
  return { servicePort, protocol, targetProtocol: protocol, certificates: [] };
}

export function whyNotOne(
  tcp: ServicePort,
  udp: ServicePort,
  targetType: TargetType,
  encrypted: boolean,
  allowed: boolean,
): string | undefined {
  if (!allowed) return `${annotationTable.tcpUdp.key} is false`;
  if (encrypted) return 'the TCP port has a certificate';
  if (targetType === 'instance' && tcp.nodePort !== udp.nodePort) return `their NodePorts differ (${tcp.nodePort} and ${udp.nodePort})`;
  // Nodes forward each protocol of a NodePort to its own targetPort.
  if (targetType === 'ip' && tcp.targetPort !== udp.targetPort && typeof tcp.targetPort === 'number') return 'their targetPorts differ';
  return undefined;
}

/**
 * The attributes of a listener. The annotation key ends in protocol and port, as in AWS' documentation: listener-attributes.TCP-80. TLS
 * listeners have none.
 */
export function listenerAttributes(values: AnnotationValues, { protocol, servicePort }: NlbPort): Readonly<Record<string, string>> {
  const found = keysOf({ protocol, servicePort }).map((key) => values.listenerAttributes.get(key));
  return found.find((attributes) => attributes !== undefined) ?? {};
}

/** The keys of a listener. The AWS Load Balancer Controller may make a TCP listener where Herald makes one for TCP and UDP. */
function keysOf({ protocol, servicePort: { port } }: Pick<NlbPort, 'protocol' | 'servicePort'>): string[] {
  if (protocol === 'TLS') return [];
  return protocol === 'TCP_UDP' ? [`TCP_UDP-${port}`, `TCP-${port}`] : [`${protocol}-${port}`];
}

/** Warns about listener attributes without a matching listener, which have no effect, as in the AWS Load Balancer Controller. */
export function checkListenerAttributes(service: Service, values: AnnotationValues, ports: readonly NlbPort[], issues: Issues): void {
  const listeners = new Set(ports.flatMap(keysOf));
  for (const member of values.listenerAttributes.keys()) {
    if (listeners.has(member)) continue;
    const key = `${annotationTable.listenerAttributes.key}.${member}`;
    const having = [...listeners].toSorted().join(', ');
    const problem = `belongs to no listener of ${serviceKey(service.metadata)} with attributes (${having})`;
    issues.warn(reason('AwsAnnotationUnmatched', { key, problem }));
  }
}
