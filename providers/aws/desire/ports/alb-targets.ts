import { reason } from '../../../../src/model/reasons.ts';
import type { Service, ServicePort } from '../../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../../annotations/table.ts';
import type { AlbFacts, AlbTarget } from '../../model/targets/alb.ts';
import type { Issues } from '../../model/issues.ts';
import { valuesOfPorts } from './encryption.ts';

interface Named {
  /** The annotation. */
  readonly key: string;
  readonly text: string;
}

/** Returns the ALB that the Service names for each port number. Reports annotations for ports that it does not have. */
export function namedAlbOfPorts(
  service: Service,
  { albTarget, albTargetOfPort }: AnnotationValues,
  issues: Issues,
): ReadonlyMap<number, Named> {
  const { key: ofAll } = annotationTable.albTarget;
  const named = [...valuesOfPorts(service, ofAll, albTarget, albTargetOfPort, issues)];
  // TCP and UDP may have the same number. What is said of one port counts before what is said of all.
  const inOrder = named.toSorted(([, a], [, b]) => Number(a.key !== ofAll) - Number(b.key !== ofAll));
  return new Map(inOrder.map(([{ port }, { key, value: text }]) => [port, { key, text }]));
}

/** Returns the ALB to which a port sends. Undefined: AWS would not take it, and the issues say why. */
export function albTargetOf(
  { key, text }: Named,
  { ports, isEncrypted, family }: { readonly ports: readonly ServicePort[]; readonly isEncrypted: boolean; readonly family: number },
  { albs, vpcId, region }: { readonly albs: AlbFacts | undefined; readonly vpcId: string; readonly region: string },
  issues: Issues,
): AlbTarget | undefined {
  const port = ports[0]?.port ?? 0;
  const conflict = (what: string): void => issues.error(reason('AwsSettingsConflict', { what: `${what}, but ${key} names ${text}` }));
  if (ports.some(({ protocol }) => protocol !== 'TCP')) conflict(`port ${port} is not only TCP, which is all that an NLB sends to an ALB`);
  if (isEncrypted) conflict(`port ${port} has a certificate, which only the ALB can have where an NLB sends to it`);
  if (family === 6) conflict('the Service is IPv6, and an NLB sends only IPv4 to an ALB');
  const found = albs?.get(text);
  const listener = found?.listeners.find((one) => one.port === port);
  const having = (found?.listeners ?? []).map((one) => one.port).toSorted((a, b) => a - b);
  const why =
    found === undefined
      ? `does not exist in region ${region}`
      : found.type !== 'application'
        ? 'is no Application Load Balancer'
        : found.vpcId !== vpcId
          ? `is in ${found.vpcId}, and the NLB is in ${vpcId}`
          : listener === undefined
            ? `has no listener on port ${port}${having.length === 0 ? '' : `, only on ${having.join(', ')}`}`
            : undefined;
  if (why !== undefined) issues.error(reason('AwsAlbUnusable', { key, alb: text, port, why }));
  return found === undefined || why !== undefined
    ? undefined
    : { arn: found.arn, name: found.name, protocol: listener?.protocol === 'HTTPS' ? 'HTTPS' : 'HTTP' };
}
