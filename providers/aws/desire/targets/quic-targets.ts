import { reason } from '../../../../src/model/reasons.ts';
import type { DesiredTarget } from '../../model/desired.ts';
import type { Issues } from '../../model/issues.ts';
import { quicServerIdAnnotation, type PodIdentity } from '../../model/pods.ts';

/**
 * Adds its server id to each target of a QUIC listener. AWS looks for the id in the connection id of a packet, so each must be unique in the
 * listener. Targets without an id, and those whose id an older Pod has, are left out, with one warning for the port.
 *
 * The id is the one that the Pod's annotation names, otherwise the last 16 hexadecimal digits of its UID: 62 random bits, which a container
 * reads through the downward API.
 */
export function withServerIds(
  targets: readonly DesiredTarget[],
  port: number,
  identities: ReadonlyMap<string, PodIdentity>,
  issues?: Issues,
): DesiredTarget[] {
  const holders = new Map<string, DesiredTarget>();
  const refused = new Map<DesiredTarget, string>();
  for (const target of targets.toSorted((a, b) => byAge(identities.get(a.id), identities.get(b.id)))) {
    const result = serverIdOf(identities.get(target.id));
    if ('why' in result) {
      refused.set(target, result.why);
      continue;
    }
    const holder = holders.get(result.id);
    if (holder === undefined) holders.set(result.id, target);
    else refused.set(target, `its server id ${result.id} is that of ${nameOf(holder, identities)}, which is older`);
  }
  const [first] = refused;
  if (first !== undefined) {
    const [target, why] = first;
    issues?.warn(reason('AwsQuicTargetRefused', { port, target: nameOf(target, identities), others: refused.size - 1, why }));
  }
  const ids = new Map([...holders].map(([id, target]) => [target, id]));
  return targets.flatMap((target) => {
    const quicServerId = ids.get(target);
    return quicServerId === undefined ? [] : [{ ...target, quicServerId }];
  });
}

function byAge(a: PodIdentity | undefined, b: PodIdentity | undefined): number {
  const text = ({ created = '', name }: PodIdentity): string => `${created} ${name}`;
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return text(a) < text(b) ? -1 : 1;
}

function nameOf({ id }: DesiredTarget, identities: ReadonlyMap<string, PodIdentity>): string {
  const pod = identities.get(id)?.name;
  return pod === undefined ? id : `Pod ${pod} (${id})`;
}

function serverIdOf(pod: PodIdentity | undefined): { readonly id: string } | { readonly why: string } {
  if (pod === undefined) return { why: 'it is no known Pod, and only Pods have a server id' };
  const { uid = '', quicServerId } = pod;
  if (quicServerId !== undefined) {
    if (/^0x[0-9a-f]{16}$/i.test(quicServerId)) return { id: quicServerId.toLowerCase() };
    return { why: `its annotation ${quicServerIdAnnotation} is "${quicServerId.slice(0, 40)}", which is not 0x and 16 hexadecimal digits` };
  }
  const digits = uid.replaceAll('-', '').slice(-16).toLowerCase();
  return /^[0-9a-f]{16}$/.test(digits) ? { id: `0x${digits}` } : { why: 'it has no UID from which its server id could come' };
}
