import { reason } from '../../../../src/model/reasons.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationValues } from '../../annotations/table.ts';
import type { IpAddressType, TargetType } from '../../cloud/elbv2.ts';
import type { DesiredListener } from '../../model/desired.ts';
import type { Issues } from '../../model/issues.ts';
import { isQuic, transportsOf } from '../../model/protocols.ts';
import { portsNamed } from './encryption.ts';

/** The parts of an NLB on which AWS makes conditions for QUIC. */
interface QuicSurroundings {
  readonly ipAddressType: IpAddressType;
  readonly groups: { readonly kind: 'none' | 'given' | 'managed' };
  readonly adopted?: string;
}

/** Reports an error for each item of the annotation that is no UDP port of the Service: it would silently have no effect. */
export function checkQuicPorts(service: Service, { quicPorts = [] }: AnnotationValues, issues: Issues): void {
  for (const item of quicPorts) {
    const found = portsNamed(service, item);
    if (found.some(({ protocol }) => protocol === 'UDP')) continue;
    issues.invalid(key, `names "${item}", ${found.length === 0 ? 'which is no port of the Service' : 'a port that carries no UDP'}`);
  }
}

/**
 * Reports what AWS does not allow beside a QUIC listener. It would refuse the listener after the rest was made. `others`: the listeners of
 * the Services that share the NLB.
 */
export function checkQuicListeners(
  listeners: readonly DesiredListener[],
  others: readonly DesiredListener[],
  targetType: TargetType,
  { ipAddressType, groups, adopted }: QuicSurroundings,
  issues: Issues,
): void {
  const refuse = (what: string): void => issues.error(reason('AwsQuicImpossible', { key, what }));
  const first = listeners.find(({ protocol }) => isQuic(protocol));
  const all = [...others, ...listeners];
  const quic = all.find(({ protocol }) => isQuic(protocol));
  if (quic === undefined) return;
  const clash = all.find(
    (one) => one !== quic && (listeners.includes(one) || listeners.includes(quic)) && transportsOf(one.protocol).includes('udp'),
  );
  if (clash !== undefined) {
    refuse(
      `port ${quic.port} of ${quic.service} is QUIC and port ${clash.port} of ${clash.service} is ${clash.protocol}: an NLB with a QUIC listener has no other listener for UDP or QUIC`,
    );
  }
  if (first === undefined) return;
  if (targetType === 'instance')
    refuse(`port ${first.port} is QUIC, which needs Pods as targets: set ${annotationTable.targetType.key} to "ip"`);
  if (ipAddressType === 'dualstack')
    refuse(`port ${first.port} is QUIC, which is impossible on a dual-stack NLB: set ${annotationTable.ipAddressType.key} to "ipv4"`);
  // Only the owner of an adopted NLB knows its security groups.
  if (groups.kind !== 'none' && adopted === undefined) {
    refuse(
      `port ${first.port} is QUIC, which is impossible on an NLB with security groups: set ${annotationTable.disableSecurityGroups.key} to "true" and ${annotationTable.manageBackendRules.key} to "false", and admit clients in the security groups of the Pods`,
    );
  }
}

const { key } = annotationTable.quicPorts;
