import { reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../annotations/table.ts';
import type { TargetType } from '../cloud/elbv2.ts';
import type { Tags } from '../model/observed.ts';
import { transportsOf } from '../model/protocols.ts';
import type { Issues } from '../model/issues.ts';
import type { NlbPort } from './ports/nlb-listeners.ts';

const routingPolicies = ['any_availability_zone', 'partial_availability_zone_affinity', 'availability_zone_affinity'];

/**
 * Returns the attributes of the load balancer. The older annotations for single attributes override the attributes annotation, as in the
 * AWS Load Balancer Controller.
 */
export function loadBalancerAttributes(values: AnnotationValues, issues: Issues): Tags {
  const { attributes = {}, accessLog, accessLogBucket, accessLogPrefix, crossZone } = values;
  const routing = attributes['dns_record.client_routing_policy'];
  if (routing !== undefined && !routingPolicies.includes(routing)) {
    const problem = `says dns_record.client_routing_policy=${routing}, which is not one of ${routingPolicies.join(', ')}`;
    issues.invalid(annotationTable.attributes.key, problem);
  }
  if (accessLog === true && accessLogBucket === undefined && attributes['access_logs.s3.bucket'] === undefined) {
    issues.invalid(annotationTable.accessLog.key, `is true, but ${annotationTable.accessLogBucket.key} is missing`);
  }
  return {
    ...attributes,
    ...(accessLog === undefined ? {} : { 'access_logs.s3.enabled': `${accessLog}` }),
    ...(accessLog === true && accessLogBucket !== undefined ? { 'access_logs.s3.bucket': accessLogBucket } : {}),
    ...(accessLog === true && accessLogPrefix !== undefined ? { 'access_logs.s3.prefix': accessLogPrefix } : {}),
    ...(crossZone === undefined ? {} : { 'load_balancing.cross_zone.enabled': `${crossZone}` }),
  };
}

/**
 * Returns the attributes of one port's target group. Attributes of the port override the general ones, and the PROXY protocol annotations
 * override both. Herald always sets the PROXY protocol, because a target that receives an unexpected header does not answer.
 */
export function targetGroupAttributes(values: AnnotationValues, { servicePort, targetProtocol, alb }: NlbPort, issues: Issues): Tags {
  const own = values.targetGroupAttributesOfPort.get(`${servicePort.port}`) ?? {};
  const written: Record<string, string> = { 'proxy_protocol_v2.enabled': 'false', ...values.targetGroupAttributes };
  for (const [key, value] of Object.entries(own)) if (value !== '') written[key] = value;
  const { proxyProtocol, proxyProtocolPorts } = values;
  if (proxyProtocol !== undefined) written['proxy_protocol_v2.enabled'] = 'true';
  else if (proxyProtocolPorts !== undefined) written['proxy_protocol_v2.enabled'] = `${proxyProtocolPorts.includes(servicePort.port)}`;
  const carriesUdp = transportsOf(targetProtocol).includes('udp');
  if (carriesUdp && written['preserve_client_ip.enabled'] === 'false') {
    const what = `preserve_client_ip.enabled=false is impossible for port ${servicePort.port}, which carries UDP`;
    issues.error(reason('AwsSettingsConflict', { what }));
  }
  if (alb !== undefined) {
    const impossible = { 'preserve_client_ip.enabled': 'false', 'proxy_protocol_v2.enabled': 'true' };
    for (const [key, value] of Object.entries(impossible))
      if (written[key] === value) {
        const what = `${key}=${value} is impossible for port ${servicePort.port}, which sends to an ALB`;
        issues.error(reason('AwsSettingsConflict', { what }));
      }
  }
  return written;
}

/**
 * Reports an error for each annotation about a port that the Service does not have. Warns when health checks would carry the PROXY protocol
 * header.
 */
export function checkTargetGroupAttributes(
  service: Service,
  values: AnnotationValues,
  targetType: TargetType,
  attributes: readonly Tags[],
  issues: Issues,
): void {
  const numbers = new Set(service.ports.map(({ port }) => `${port}`));
  for (const member of values.targetGroupAttributesOfPort.keys()) {
    if (numbers.has(member)) continue;
    const key = `${annotationTable.targetGroupAttributesOfPort.key}.${member}`;
    issues.invalid(key, 'belongs to no port of the Service');
  }
  for (const port of values.proxyProtocolPorts ?? []) {
    if (numbers.has(`${port}`)) continue;
    issues.invalid(annotationTable.proxyProtocolPorts.key, `names port ${port}, which the Service does not have`);
  }
  const proxied = attributes.some((attributes) => attributes['proxy_protocol_v2.enabled'] === 'true');
  if (proxied && targetType === 'instance' && service.externalTrafficPolicy === 'Local')
    issues.warn(reason('AwsProxyProtocolLocal', undefined));
}
