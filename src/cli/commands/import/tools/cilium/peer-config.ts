import { familyOfText } from '../../../../../net/address.ts';
import type { Fields } from '../reading/fields.ts';
import { kept, lost, to, type SourceKind } from '../reading/source-kind.ts';
import { secretReference } from '../reading/secret.ts';

/** pkg/k8s/apis/cilium.io/v2/bgp_peer_types.go of Cilium. */
export const cPeerConfig: SourceKind = {
  tool: 'Cilium',
  kind: 'CiliumBGPPeerConfig',
  root: 'spec.',
  fields: [
    to('transport.peerPort', 'BGPPeer `peerPort`'),
    lost(
      'transport.localPort',
      'is left out: the kernel chooses the port of an outgoing connection',
      'set --bgp-listen of the agent for passive peers',
    ),
    to('timers.connectRetryTimeSeconds', 'BGPPeer `connectTime`, in seconds'),
    to('timers.holdTimeSeconds', 'BGPPeer `holdTime`, in seconds'),
    to('timers.keepAliveTimeSeconds', 'BGPPeer `keepaliveTime`, in seconds'),
    to('authSecretRef', 'BGPPeer `passwordSecret`. The Secret needs type kubernetes.io/basic-auth: the report has the command.'),
    to('gracefulRestart.enabled', 'BGPPeer `enableGracefulRestart`'),
    to('gracefulRestart.restartTimeSeconds', 'Lost unless it is 120: Herald asks for 120 s.'),
    to('ebgpMultihop', 'BGPPeer `ebgpMultiHop`, true above 1. The number itself is lost.'),
    to('families[].afi', 'Both families: BGPPeer `dualStackAddressFamily`.'),
    to('families[].safi', 'Only `unicast` has an equivalent.'),
    to('families[].advertisements', 'Selects CiliumBGPAdvertisements: their BGPAdvertisements name the peer in `peers`.'),
    kept('status', 'is written by Cilium'),
  ],
};

/** The meaning of a CiliumBGPPeerConfig for one kind of peer address. */
export interface PeerSettings {
  readonly spec: Readonly<Record<string, unknown>>;
  /** Families of the sessions. */
  readonly families: ReadonlySet<string>;
  /** Label selectors of CiliumBGPAdvertisements, by family. */
  readonly advertisements: readonly { readonly family: string; readonly selector: unknown }[];
}

export function peerSettings(fields: Fields): PeerSettings {
  const timers = fields.within('timers');
  const restart = fields.within('gracefulRestart');
  const time = restart.number('restartTimeSeconds');
  if (time !== undefined && time !== 120 && restart.flag('enabled') === true)
    restart.lose('restartTimeSeconds', `is ${time}: Herald asks routers to keep routes for 120 s`, 'see docs/how-to/graceful-restart.md');
  const hops = fields.number('ebgpMultihop') ?? 1;
  const advertisements = fields.items('families').flatMap((family) => {
    const afi = family.text('afi') ?? '';
    const selector = family.value('advertisements');
    const safi = family.text('safi') ?? 'unicast';
    if (safi === 'unicast' && (afi === 'ipv4' || afi === 'ipv6')) return [{ family: afi, selector }];
    family.lose('afi', `with safi ${safi} is ${afi} ${safi}, which Herald does not send`, 'remove the family');
    return [];
  });
  const families = new Set(advertisements.length === 0 ? ['ipv4', 'ipv6'] : advertisements.map(({ family }) => family));
  return {
    families,
    advertisements,
    spec: {
      peerPort: portOf(fields.within('transport').number('peerPort')),
      connectTime: seconds(timers.number('connectRetryTimeSeconds')),
      holdTime: seconds(timers.number('holdTimeSeconds')),
      keepaliveTime: seconds(timers.number('keepAliveTimeSeconds')),
      passwordSecret: secretReference(fields, 'authSecretRef', fields.text('authSecretRef'), 'kube-system'),
      enableGracefulRestart: restart.flag('enabled') === true ? true : undefined,
      ebgpMultiHop: hops > 1 ? true : undefined,
    },
  };
}

export const seconds = (count: number | undefined): string | undefined => (count === undefined || count === 0 ? undefined : `${count}s`);
const portOf = (port: number | undefined): number | undefined => (port === 179 || port === 0 ? undefined : port);

/** Returns `dualStackAddressFamily` of a session with the address, and which family of Cilium's it cannot leave out. */
export function familiesOf(
  address: string | undefined,
  families: ReadonlySet<string>,
): { readonly dualStack?: true; readonly beyond?: string } {
  if (families.size === 2) return address === undefined ? {} : { dualStack: true };
  const own = address === undefined ? undefined : familyOfText(address) === 4 ? 'ipv4' : 'ipv6';
  if (own === undefined || families.has(own)) return {};
  return { dualStack: true, beyond: own };
}
