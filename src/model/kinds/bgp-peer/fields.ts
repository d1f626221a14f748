import { formatAddress, isLinkLocal, type Address } from '../../../net/address.ts';
import { limits } from '../../limits.ts';
import { specialAddress } from '../../reading/special-address.ts';
import { hasText, matches } from '../../schema/cel.ts';
import { boolean, choice, integer, object, parsed, text } from '../../schema/fields.ts';
import { address, durationPattern, interfaceName, seconds } from '../../schema/grammars.ts';
import type { ValueRule } from '../../schema/schema.ts';
import { selectors } from '../../schema/selector.ts';
import { peerImport } from './import.ts';
import { dynamicNeighbors } from './neighbors.ts';

const asTrans: ValueRule = {
  cel: 'self != 23456',
  message: 'is AS_TRANS, which stands for AS numbers above 65535 (RFC 6793)',
  fix: 'write the real AS number',
  holds: (asn: number) => asn !== 23_456,
  broken: 23_456,
};

/** AS number 0 is reserved (RFC 7607). In optional fields MetalLB uses 0 for "not set". */
const asn = { min: 1, max: 4_294_967_295, rules: [asTrans] } as const;

const shutdownMessageFits: ValueRule = {
  cel: `bytes(self).size() <= ${limits.shutdownMessageBytes}`,
  message: `is longer than ${limits.shutdownMessageBytes} octets (RFC 9003)`,
  fix: 'shorten it',
  holds: (value: string) => Buffer.byteLength(value) <= limits.shutdownMessageBytes,
  // Each character has three octets.
  broken: '€'.repeat(86),
};

/** Loopback is allowed, for a router on the same host. */
const canBePeer: ValueRule = {
  cel: '!isIP(self) || ip(self).isGlobalUnicast() || ip(self).isLoopback() || (ip(self).family() == 6 && ip(self).isLinkLocalUnicast())',
  message: 'is not the address of a host',
  says: (peer: Address) => `${formatAddress(peer)} is ${specialAddress(peer) ?? 'the broadcast address'}`,
  fix: '',
  holds: (peer: Address) => {
    if (peer.family === 4 && peer.value === 0xffff_ffffn) return false;
    const special = specialAddress(peer);
    return special === undefined || special.includes('loopback') || isLinkLocal(peer);
  },
  broken: '224.0.0.5',
};

const passwordSecret = object(
  {
    name: text({ maxLength: 253, description: 'Name of the Secret.' }),
    namespace: text({ maxLength: 63, description: 'Namespace of the Secret.' }),
  },
  {
    unset: 'none',
    description:
      'Secret of type `kubernetes.io/basic-auth`, key `password`. Not together with `password`. Without the Secret there is no session; an established one continues with its last password until its agent restarts ([PeerPasswordGone](reasons.md)).',
    relations: [
      {
        at: 'name',
        message: 'is required',
        fix: 'name the Secret',
        cel: `${hasText('name')} || !${hasText('namespace')}`,
        holds: (_, written) => written('name') || !written('namespace'),
        broken: { name: undefined, namespace: 'herald-system' },
      },
      {
        at: 'namespace',
        message: 'is required',
        fix: 'write the namespace of the Secret',
        cel: `${hasText('namespace')} || !${hasText('name')}`,
        holds: (_, written) => written('namespace') || !written('name'),
        broken: { name: 'tor', namespace: undefined },
      },
    ],
  },
);

const connectTimes = 'from 1s to 65535s';

/** Fields and defaults are MetalLB's (v1beta2), plus Herald's additions. peerPort may be any port. */
export const bgpPeerFields = {
  myASN: integer({ ...asn, required: 'write the AS number of the nodes', description: 'Our AS number.' }),
  peerASN: integer({ ...asn, zeroIsUnset: true, unset: 'this or `dynamicASN`', description: "The peer's AS number." }),
  dynamicASN: choice(['internal', 'external'], {
    unset: 'this or `peerASN`',
    description: 'Any AS number: the same as ours, or another.',
  }),
  localASN: integer({
    ...asn,
    zeroIsUnset: true,
    unset: '`myASN`',
    description: 'AS number used towards an external peer instead: the only one of ours in OPEN and in AS_PATH.',
  }),
  peerAddress: parsed(address, {
    unset: 'this, `interface` or `dynamicNeighbors`',
    rules: [canBePeer],
    description: 'Address of the router. Loopback is allowed; IPv6 link-local needs `interface`.',
  }),
  dynamicNeighbors,
  interface: parsed(interfaceName, {
    unset: "the kernel's choice",
    description:
      'Network interface of the node that the session is bound to. Without `peerAddress`: [unnumbered](configuration.md#links-without-addresses).',
  }),
  peerPort: integer({ min: 1, max: 65_535, default: 179, description: 'Port of the router. MetalLB allows at most 16384.' }),
  sourceAddress: parsed(address, {
    unset: "the kernel's choice",
    description:
      'Source address of the session, of the same family as `peerAddress`. FRR with `capability extended-nexthop` sends router advertisements: a node that configures an address from them would connect from it, and the router does not know it. Then set the right address here, or turn `autoconf` of that interface off.',
  }),
  sourceInterface: parsed(interfaceName, {
    unset: "`sourceAddress`, or the kernel's choice",
    description:
      'Network interface of each node whose address, of the family of `peerAddress`, is the source of the session: "lo" for the address of a loopback, each node its own. An InternalIP of the Node comes first, then the order of the kernel; addresses of one link or of the host itself (127.0.0.0/8, ::1, fe80::/10) are not used. The session is not bound to the interface. It needs `peerAddress`; not together with `sourceAddress`.',
  }),
  holdTime: parsed(seconds('0s, or from 3s to 65535s', 3), {
    unset: '90s, or three times `keepaliveTime`',
    description: 'Time without a message after which the session is down. Whole seconds; 0s means never.',
  }),
  keepaliveTime: parsed(seconds('from 1s up to holdTime', 3), {
    unset: 'a third of `holdTime`',
    description: 'Time between keepalives. Whole seconds; 0s means "not set".',
  }),
  connectTime: parsed(seconds(connectTimes, 3), {
    unset: '5s',
    rules: [
      {
        cel: `!${matches('self', durationPattern)} || (duration(self) >= duration('1s') && duration(self) <= duration('65535s'))`,
        message: `must be ${connectTimes}`,
        fix: '',
        holds: (time: number) => time >= 1 && time <= 65_535,
        broken: '0s',
      },
    ],
    description: 'Pause between connection attempts. It grows after repeated errors.',
  }),
  routerID: parsed(address, {
    unset: "the node's first IPv4 InternalIP, else from its name",
    rules: [
      {
        cel: '!isIP(self) || (ip(self).family() == 4 && !ip(self).isUnspecified())',
        message: 'must be an IPv4 address other than 0.0.0.0 (RFC 6286)',
        fix: '',
        holds: (id: Address) => id.family === 4 && id.value !== 0n,
        broken: '2001:db8::1',
      },
    ],
    description: 'The BGP Identifier.',
  }),
  nodeSelectors: selectors({ unset: 'every node', description: 'Nodes that hold a session with this peer.' }),
  password: text({
    maxLength: limits.passwordBytes,
    secret: true,
    unset: 'none',
    description: `TCP MD5 (RFC 2385), up to ${limits.passwordBytes} octets.`,
  }),
  passwordSecret,
  bfdProfile: text({
    maxLength: 253,
    unset: 'none: the session runs without BFD',
    description:
      'Name of a BFDProfile: BFD monitors the path to the peer, and the session is closed when the path fails ([what happens](configuration.md#bfdprofile)). May change while the session is up.',
  }),
  bfdStrict: boolean({
    default: false,
    description:
      'There is no session until BFD is up, and none after BFD goes down until it is up again ([what that asks of the router](../explanation/failure-modes.md#bgp-that-waits-for-bfd)). Needs `bfdProfile`. A change applies to an established session only after it ends.',
  }),
  enableGracefulRestart: boolean({
    default: false,
    description:
      'RFC 4724, RFC 8538: the peer keeps our routes for 120 s while the agent restarts, see [graceful restart](configuration.md#graceful-restart). MetalLB does not allow changing it; in Herald a change resets the session.',
  }),
  import: peerImport,
  ebgpMultiHop: boolean({ default: false, description: 'The external peer is not on a connected network.' }),
  dualStackAddressFamily: boolean({
    default: false,
    description:
      'Carry both address families. When false, only the family of `peerAddress` (both if there is none). Routes of the other family lead to the InternalIP of the node in that family, or to another address of the link to the router if the InternalIP is not there.',
  }),
  vrf: parsed(interfaceName, {
    unset: 'none',
    description:
      'The session uses the routes and addresses of this VRF of the node, by the name of its device ([VRFs](configuration.md#vrfs)). Not together with `interface`, `bfdProfile` or `import`.',
  }),
  disableMP: boolean({
    rules: [
      {
        cel: '!self',
        message: 'has no meaning here: a session carries the address families that it was given',
        fix: 'remove disableMP',
        holds: (value: boolean) => !value,
        broken: true,
      },
    ],
    unset: 'false',
    description:
      'Deprecated in MetalLB, and refused unless false: a session carries exactly the families that `dualStackAddressFamily` selects.',
  }),
  ttlSecurityHops: integer({
    min: 1,
    max: 254,
    zeroIsUnset: true,
    unset: 'none',
    description:
      'RFC 5082: the peer is at most this many hops away, 1 for a neighbour. The kernel drops packets that have come further. The peer needs the same setting. Not together with `ebgpMultiHop`.',
  }),
  passive: boolean({
    default: false,
    description: 'Wait for the peer to connect. The agent then listens, see [listening](configuration.md#listening).',
  }),
  flapDamping: boolean({
    default: true,
    description:
      'A session that goes down repeatedly is held back, for 20 s and then longer, up to 5 minutes ([when](configuration.md#flaps)). May change while the session is up.',
  }),
  adminDown: boolean({ default: false, description: 'Keep the session closed.' }),
  shutdownMessage: text({
    maxLength: limits.shutdownMessageBytes,
    rules: [shutdownMessageFits],
    unset: 'none',
    description: `Sent to the peer when the session is shut down (RFC 9003), up to ${limits.shutdownMessageBytes} octets.`,
  }),
};
