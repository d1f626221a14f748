import { reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../annotations/table.ts';
import type { TargetType } from '../cloud/elbv2.ts';
import type { DesiredHealthCheck } from '../model/desired.ts';
import { portsNamed } from './ports/encryption.ts';
import type { Issues } from '../model/issues.ts';
import { transportsOf } from '../model/protocols.ts';
import type { NlbPort } from './ports/nlb-listeners.ts';

/**
 * Builds the health check for the targets of one port. Under policy Local, AWS checks instances at healthCheckNodePort, where only nodes
 * with a ready pod answer 200. AWS checks an ALB by the protocol of its listener. Annotations win.
 */
export function nlbHealthCheck(
  service: Service,
  values: AnnotationValues,
  targetType: TargetType,
  { protocol: listener, alb }: NlbPort,
  issues: Issues,
): DesiredHealthCheck {
  const local = targetType === 'instance' && service.externalTrafficPolicy === 'Local' && service.healthCheckNodePort !== 0;
  const protocol = readProtocol(values, alb !== undefined, issues) ?? alb?.protocol ?? (local ? 'HTTP' : 'TCP');
  const port = readPort(service, values, targetType, issues) ?? (local ? service.healthCheckNodePort : 'traffic-port');
  if (!transportsOf(listener).includes('tcp') && port === 'traffic-port') {
    for (const { protocol, port } of service.ports) if (protocol === 'UDP') issues.warn(reason('AwsHealthCheckOnUdp', { port }));
  }
  if (protocol === 'TCP') warnOfHttpOnly(values, issues);
  return {
    protocol,
    port,
    ...(protocol === 'TCP'
      ? {}
      : { path: values.healthCheckPath ?? (local ? '/healthz' : '/'), successCodes: values.successCodes ?? '200-399' }),
    intervalSeconds: values.healthCheckInterval ?? 10,
    timeoutSeconds: values.healthCheckTimeout ?? (local ? 6 : 10),
    healthyThreshold: values.healthyThreshold ?? (local ? 2 : 3),
    unhealthyThreshold: values.unhealthyThreshold ?? (local ? 2 : 3),
  };
}

/** Warns about settings that only a check by HTTP or HTTPS has, while the targets are checked by TCP or SSL. */
export function warnOfHttpOnly(values: AnnotationValues, issues: Issues): void {
  const instead = 'set aws-load-balancer-healthcheck-protocol: http, or remove the annotation';
  for (const name of ['healthCheckPath', 'successCodes'] as const)
    if (values[name] !== undefined)
      issues.warn(reason('AwsFieldWithoutEffect', { field: `annotation ${annotationTable[name].key}`, instead }));
}

function readProtocol(
  { healthCheckProtocol }: AnnotationValues,
  isAlb: boolean,
  issues: Issues,
): DesiredHealthCheck['protocol'] | undefined {
  const isRight = healthCheckProtocol !== 'SSL' && !(isAlb && healthCheckProtocol === 'TCP');
  if (isRight) return healthCheckProtocol;
  const problem = isAlb ? `is ${healthCheckProtocol}, but AWS checks an ALB by HTTP or HTTPS` : 'is SSL, which only a Classic ELB supports';
  issues.invalid(annotationTable.healthCheckProtocol.key, problem);
  return undefined;
}

function readPort(
  service: Service,
  { healthCheckPort: text }: AnnotationValues,
  targetType: TargetType,
  issues: Issues,
): DesiredHealthCheck['port'] | undefined {
  if (text === undefined) return undefined;
  if (text === 'traffic-port') return text;
  if (/^[0-9]+$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535) return Number(text);
  const [port] = portsNamed(service, text);
  const refuse = (problem: string): undefined => {
    issues.invalid(annotationTable.healthCheckPort.key, problem);
    return undefined;
  };
  if (port === undefined) return refuse(`is "${text}", which is neither traffic-port nor a number nor the name of a port`);
  if (targetType === 'alb') return port.port;
  if (targetType === 'instance') return port.nodePort === 0 ? refuse(`names port ${port.port}, which has no NodePort`) : port.nodePort;
  if (typeof port.targetPort === 'string') return refuse(`names a port whose targetPort is a name; use the number`);
  return port.targetPort;
}
