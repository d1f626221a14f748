import { defined } from '../../../src/lang/defined.ts';
import { serviceKey } from '../../../src/model/objects/metadata.ts';
import { reason } from '../../../src/model/reasons.ts';
import type { Service, ServicePort } from '../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../annotations/table.ts';
import type { ClassicAttributes, ClassicHealthCheck, ClassicListener, ClassicProtocol } from '../cloud/elb.ts';
import { limits } from '../model/limits.ts';
import { resourceName } from '../model/resource-names.ts';
import type { DesiredClassic, TargetPort } from '../model/desired.ts';
import { askedTags, ownerTags, resources, tagKeys } from '../model/tags.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import { checkUsable } from './ports/certificates.ts';
import { upstreamIsPublic } from './claim.ts';
import { portEncryption, portsNamed, type BackendProtocol, type PortEncryption } from './ports/encryption.ts';
import { checkName, checkQuota, type Issues } from '../model/issues.ts';
import { warnOfHttpOnly } from './nlb-health-check.ts';
import { checkClassicSslPolicy } from './first-check.ts';
import { effectiveScheme } from './scheme.ts';
import { checkEnforced, checkRuleQuota, clientRules, clientSources, namedGroups } from './security-groups.ts';
import { chooseSubnets } from './subnets/choose-subnets.ts';
import { checkTagQuota } from './tag-quota.ts';
import { classicInstances, departingInstances, noTargets } from './targets/targets.ts';

/** Builds the desired Classic ELB of one Service. */
export function desireClassic(
  { service, values }: { readonly service: Service; readonly values: AnnotationValues },
  stack: StackIdentity,
  circumstances: Circumstances,
  issues: Issues,
): DesiredClassic {
  const { facts, settings, existing, nodes } = circumstances;
  const scheme = effectiveScheme(values, existing.classic, upstreamIsPublic(service), settings);
  const present = existing.classic?.scheme === scheme ? existing.classic : undefined;
  const { subnets } = chooseSubnets(values, { scheme, ipAddressType: 'ipv4', existing: present }, circumstances, issues);
  const encryption = portEncryption(service, values, facts, settings, issues);
  const certified = { region: settings.region, keys: facts.keys, isNew: present === undefined };
  for (const port of service.ports) checkUsable(encryption(port).certificates, port.port, certified, issues);
  if (present === undefined) checkClassicSslPolicy(annotationTable.sslPolicy.key, values.sslPolicy, issues);
  const listeners = service.ports.flatMap((port) => classicListener(port, encryption(port), issues) ?? []);
  const instances = classicInstances(nodes, values);
  const healthCheck = classicHealthCheck(service, values, encryption, issues);
  const rules = classicRules(service, values, listeners, issues);
  checkQuota('listeners', listeners.length, limits.listenersPerClassic, issues);
  checkQuota('instances', instances.length, limits.instancesPerClassic, issues);
  const until = existing.lastTargetsUntil?.get(serviceKey(service.metadata));
  if (instances.length === 0) issues.warn(noTargets({ of: 'node', all: true, until }, values, circumstances));
  const securityGroups = classicSecurityGroups(values, rules, stack, circumstances, issues);
  const tags = {
    ...askedTags({ ...settings.defaultTags, ...values.tags }),
    ...ownerTags(settings),
    [tagKeys.stack]: stack.key,
    [tagKeys.resource]: resources.loadBalancer,
  };
  checkTagQuota([{ tags, attributes: {} }], issues);
  const checkPort = Number(/^\w+:(\d+)/.exec(healthCheck.Target)?.[1]);
  const targetPorts = new Set([...listeners.map(({ InstancePort }) => InstancePort), checkPort]);
  const replaces = existing.classic !== undefined && existing.classic.scheme !== scheme;
  if (!replaces) checkName(values.name, existing.classic?.name, issues);
  return {
    kind: 'classic',
    stack: stack.key,
    name:
      values.name !== undefined && !replaces
        ? values.name
        : resourceName(stack.namespace, stack.name, settings.clusterName, stack.key, 'classic', scheme),
    scheme,
    subnets: subnets.map(({ id }) => id),
    securityGroups,
    tags,
    targetPorts: [...targetPorts].map((port): TargetPort => ({ protocol: 'tcp', port })),
    listeners,
    ...defined({ sslPolicy: values.sslPolicy }),
    proxyProtocolPorts:
      values.proxyProtocol === undefined
        ? []
        : [...new Set(listeners.filter(isLayer4).map(({ InstancePort }) => InstancePort))].toSorted((a, b) => a - b),
    healthCheck,
    attributes: classicAttributes(values, issues),
    instances,
    departing: departingInstances(nodes),
  };
}

function classicRules(
  service: Service,
  values: AnnotationValues,
  listeners: readonly ClassicListener[],
  issues: Issues,
): ReturnType<typeof clientRules> {
  if (values.securityGroups !== undefined) checkEnforced(service, values, { why: 'given', dualstack: false }, issues);
  return clientRules(
    listeners.map(({ LoadBalancerPort: port }) => ({ protocol: 'tcp', port })),
    clientSources(service, values, false, issues),
    true,
  );
}

function classicSecurityGroups(
  values: AnnotationValues,
  rules: ReturnType<typeof clientRules>,
  { key, namespace, name }: StackIdentity,
  { facts, settings }: Circumstances,
  issues: Issues,
): DesiredClassic['securityGroups'] {
  const backend = settings.manageNodeRules;
  const given = values.securityGroups === undefined ? undefined : namedGroups(values.securityGroups, facts, issues);
  const extra = namedGroups(values.extraSecurityGroups ?? [], facts, issues);
  if (given !== undefined) return { kind: 'given', ids: [...new Set([...given, ...extra])], backend };
  checkRuleQuota(rules, issues);
  return { kind: 'managed', name: resourceName(namespace, name, settings.clusterName, key, 'security-group'), rules, extra, backend };
}

/** HTTP listeners do not need the PROXY protocol: they send X-Forwarded-For. */
function isLayer4({ Protocol }: ClassicListener): boolean {
  return Protocol === 'TCP' || Protocol === 'SSL';
}

/** The protocol of a listener with a certificate, and the protocol to the instances. */
const encrypted: Readonly<Record<BackendProtocol, readonly [ClassicProtocol, ClassicProtocol]>> = {
  tcp: ['SSL', 'TCP'],
  ssl: ['SSL', 'SSL'],
  http: ['HTTPS', 'HTTP'],
  https: ['HTTPS', 'HTTPS'],
};

/**
 * Builds a listener. HTTP and HTTPS proxy at layer 7 and add X-Forwarded-For; TCP and SSL forward bytes. Without a certificate only `http`
 * has an effect, because `https` and `ssl` then concern other ports that have one.
 */
function classicListener(
  { protocol, port, nodePort }: ServicePort,
  { certificates, backend }: PortEncryption,
  issues: Issues,
): ClassicListener | undefined {
  if (protocol !== 'TCP') {
    issues.error(reason('AwsProtocolUnsupported', { port, protocol, kind: 'classic' }));
    return undefined;
  }
  if (nodePort === 0) issues.error(reason('AwsNodePortMissing', { port }));
  const [certificate, second] = certificates;
  if (second !== undefined) {
    issues.invalid(annotationTable.certificates.key, 'names several certificates, but a Classic ELB takes only one');
  }
  if (certificate === undefined) {
    const plain = backend === 'http' ? 'HTTP' : 'TCP';
    return { Protocol: plain, LoadBalancerPort: port, InstanceProtocol: plain, InstancePort: nodePort };
  }
  const [Protocol, InstanceProtocol] = encrypted[backend ?? 'tcp'];
  return { Protocol, LoadBalancerPort: port, InstanceProtocol, InstancePort: nodePort, SSLCertificateId: certificate };
}

/**
 * Builds the health check that all ports share. It checks the first port, healthCheckNodePort under policy Local, or the first port that
 * encrypts again if there is one: a check with SSL would fail on a port that does not speak it.
 */
function classicHealthCheck(
  service: Service,
  values: AnnotationValues,
  encryption: (port: ServicePort) => PortEncryption,
  issues: Issues,
): ClassicHealthCheck {
  const speaksTls = (port: ServicePort): boolean => {
    const { certificates, backend } = encryption(port);
    return certificates.length > 0 && (backend === 'https' || backend === 'ssl');
  };
  const local = service.externalTrafficPolicy === 'Local' && service.healthCheckNodePort !== 0;
  const encrypted = values.healthCheckProtocol === undefined && !local ? service.ports.find(speaksTls) : undefined;
  const trafficPort = (encrypted ?? service.ports[0])?.nodePort ?? 0;
  const port = checkPort(service, values, trafficPort, issues) ?? (local ? service.healthCheckNodePort : trafficPort);
  const isTls = encrypted !== undefined && service.ports.some((one) => one.nodePort === port && speaksTls(one));
  const protocol = values.healthCheckProtocol ?? (local ? 'HTTP' : isTls ? 'SSL' : 'TCP');
  const asksByHttp = protocol === 'HTTP' || protocol === 'HTTPS';
  if (!asksByHttp) warnOfHttpOnly(values, issues);
  const path = asksByHttp ? (values.healthCheckPath ?? (local ? '/healthz' : '/')) : '';
  const Interval = values.healthCheckInterval ?? 10;
  const Timeout = values.healthCheckTimeout ?? 5;
  if (Timeout >= Interval) {
    issues.invalid(annotationTable.healthCheckTimeout.key, `is ${Timeout} s, but must be less than the interval of ${Interval} s`);
  }
  return {
    Target: `${protocol}:${port}${path}`,
    Interval,
    Timeout,
    HealthyThreshold: values.healthyThreshold ?? 2,
    UnhealthyThreshold: values.unhealthyThreshold ?? 6,
  };
}

function checkPort(service: Service, { healthCheckPort: text }: AnnotationValues, trafficPort: number, issues: Issues): number | undefined {
  if (text === undefined) return undefined;
  if (text === 'traffic-port') return trafficPort;
  if (/^[0-9]+$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535) return Number(text);
  const nodePort = portsNamed(service, text)[0]?.nodePort ?? 0;
  if (nodePort !== 0) return nodePort;
  const problem = `is "${text}", which is neither traffic-port nor a number nor the name of a port with a NodePort`;
  issues.invalid(annotationTable.healthCheckPort.key, problem);
  return undefined;
}

/** The complete set of attributes. Features without an annotation are switched off. */
function classicAttributes(values: AnnotationValues, issues: Issues): ClassicAttributes {
  const { accessLog, accessLogBucket, accessLogPrefix, accessLogInterval } = values;
  if (accessLog === true && accessLogBucket === undefined) {
    issues.invalid(annotationTable.accessLog.key, `is true, but ${annotationTable.accessLogBucket.key} is missing`);
  }
  if (accessLogInterval !== undefined && accessLogInterval !== 5 && accessLogInterval !== 60) {
    issues.invalid(annotationTable.accessLogInterval.key, 'is neither 5 nor 60');
  }
  return {
    CrossZoneLoadBalancing: { Enabled: values.crossZone ?? false },
    AccessLog:
      accessLog === true
        ? {
            Enabled: true,
            EmitInterval: accessLogInterval ?? 60,
            ...defined({ S3BucketName: accessLogBucket }),
            S3BucketPrefix: accessLogPrefix ?? '',
          }
        : { Enabled: false },
    ConnectionDraining: values.drainingEnabled === true ? { Enabled: true, Timeout: values.drainingTimeout ?? 300 } : { Enabled: false },
    ConnectionSettings: { IdleTimeout: values.idleTimeout ?? 60 },
  };
}
