import { lastingReason, reasonEntry, type ReasonEntry, type Numbers, type Texts } from '../entry.ts';

/** Details of every reason why a session is down. */
export interface Outage {
  readonly peer: string;
  /** "10.1.0.1", or "on eth1" for a router without a configured address. */
  readonly router: string;
  /** Our address in the session. "": unknown. */
  readonly local: string;
  /** When the cause was first seen, RFC 3339. */
  readonly since: string;
  /** The latest symptom in words, if it differs from the cause; else "". */
  readonly latest: string;
}

type By = 'us' | 'peer';

/**
 * The cause in words, then the latest symptom. The condition has the cause only, which does not change while the session stays down;
 * `lasting` words it the same whichever side refuses the other, because that may change between attempts.
 */
function outageReason<Details extends Outage>({
  brief,
  cause,
  lasting = cause,
  fix,
}: Pick<ReasonEntry<Details>, 'brief' | 'lasting' | 'fix'> & { readonly cause: (details: Details) => string }): ReasonEntry<Details> {
  const says = (d: Details): string => `${cause(d)}${d.latest === '' ? '' : ` (at ${d.since}); since then: ${d.latest}`}`;
  return reasonEntry({ brief, says, lasting, fix });
}

/** The first words of a line of the router's configuration for this node, as FRR writes it. */
const neighbor = ({ local }: Pick<Outage, 'local'>): string => `neighbor ${local === '' ? 'ADDRESS-OF-THE-NODE' : local}`;

const routerText = ({ router }: Pick<Outage, 'router'>): string => `the router ${router}`;

/** Reasons why a BGP session is down, by the evidence of its first cause. */
export const sessionReasons = {
  PeerASMismatch: outageReason({
    brief: 'The AS numbers of BGPPeer and router differ',
    cause: (d: Outage & Texts<'field' | 'value'> & Numbers<'said'> & { readonly by: By }) =>
      d.by === 'us'
        ? `BGPPeer "${d.peer}" has ${d.field}: ${d.value}, but ${routerText(d)} says AS ${d.said}`
        : `${routerText(d)} refuses AS ${d.value} (${d.field} of BGPPeer "${d.peer}"): it expects another AS number of this node`,
    fix: (d) =>
      d.by === 'us'
        ? `set spec.peerASN: ${d.said} in BGPPeer "${d.peer}"${d.field === 'spec.peerASN' ? `; or, if the router is wrong, configure there: router bgp ${d.value}` : ` instead of ${d.field}`}`
        : `configure on the router: ${neighbor(d)} remote-as ${d.value}; or set ${d.field} of BGPPeer "${d.peer}" to the number that the router expects`,
  }),
  PeerPasswordRejected: outageReason({
    brief: 'BGPPeer and router have different TCP passwords',
    cause: (d: Outage & Texts<'source'> & { readonly finding: 'wrongSignature' | 'noSignature' | 'unexpectedSignature' }) => {
      if (d.finding === 'wrongSignature')
        return `the TCP MD5 password of BGPPeer "${d.peer}" (${d.source}) differs from that of ${routerText(d)}, it seems: the kernel of the node drops segments with a wrong signature`;
      if (d.finding === 'noSignature')
        return `${routerText(d)} has no TCP MD5 password for this node, but BGPPeer "${d.peer}" has one (${d.source}), it seems: the kernel of the node drops segments without a signature`;
      return `${routerText(d)} has a TCP MD5 password for this node, but BGPPeer "${d.peer}" has none, it seems: the kernel of the node drops signed segments`;
    },
    fix: (d) =>
      d.finding === 'unexpectedSignature'
        ? `set spec.passwordSecret of BGPPeer "${d.peer}" to a Secret with the router's password; or configure on the router: no ${neighbor(d)} password`
        : `write the router's password into ${d.source}; or configure that password on the router: ${neighbor(d)} password ...`,
  }),
  PeerTTLMismatch: outageReason({
    brief: "The router's packets arrive with a TTL that ttlSecurityHops does not allow",
    cause: (d: Outage & Numbers<'hops'>) =>
      `BGPPeer "${d.peer}" has spec.ttlSecurityHops: ${d.hops}, but packets of ${routerText(d)} arrive with a smaller TTL than that allows, it seems: the kernel of the node drops them`,
    fix: (d) =>
      `configure on the router: ${neighbor(d)} ttl-security hops ${d.hops}; or set spec.ttlSecurityHops of BGPPeer "${d.peer}" to the number of hops, or remove it`,
  }),
  PeerRefusesConnection: outageReason({
    brief: 'The router refuses the connection',
    cause: (d: Outage & Numbers<'port' | 'localASN'> & { readonly atOnce: boolean }) =>
      d.atOnce
        ? `${routerText(d)} takes the connections for BGPPeer "${d.peer}" and closes them at once: it seems to have no neighbor for this node`
        : `${routerText(d)} refuses connections for BGPPeer "${d.peer}" at TCP port ${d.port}: no BGP speaker listens there, or it has no neighbor for this node`,
    fix: (d) =>
      `start BGP on the router and configure there: ${neighbor(d)} remote-as ${d.localASN}; or correct spec.peerAddress and spec.peerPort of BGPPeer "${d.peer}"`,
  }),
  PeerUnreachable: outageReason({
    brief: 'The router does not answer',
    cause: (d: Outage & Texts<'why' | 'hints'> & Numbers<'port'> & { readonly wasUp: boolean }) =>
      `${routerText(d)} of BGPPeer "${d.peer}" does not answer at TCP port ${d.port}: ${d.why}`,
    fix: (d) =>
      `check that the router runs, and the link, the route and filters of TCP port ${d.port} between it and the node, both ways; ${d.wasUp ? `the present settings of BGPPeer "${d.peer}" worked before` : `check spec.peerAddress of BGPPeer "${d.peer}"`}${d.hints}`,
  }),
  PeerVRFMissing: reasonEntry({
    brief: 'The VRF of the BGPPeer does not exist on the node',
    says: (d: Texts<'peer' | 'vrf'>) =>
      `BGPPeer "${d.peer}" has spec.vrf: ${d.vrf}, but there is no VRF ${d.vrf} on the node, or its kernel has none`,
    fix: (d) =>
      `create it on the node: ip link add ${d.vrf} type vrf table NUMBER (needs a kernel with CONFIG_NET_VRF); or remove spec.vrf of BGPPeer "${d.peer}", or select other nodes with its nodeSelectors`,
  }),
  HoldTimeExpired: outageReason({
    brief: 'One side heard nothing from the other for the hold time',
    cause: (d: Outage & Numbers<'seconds'> & { readonly kind: 'us' | 'peer' | 'stalled' }) => {
      if (d.kind === 'us')
        return `hold timer of BGPPeer "${d.peer}" expired: the node heard nothing from ${routerText(d)} for ${d.seconds} s`;
      if (d.kind === 'peer')
        return `hold timer of ${routerText(d)} expired: it heard nothing from the node (BGPPeer "${d.peer}"), but its own messages arrive`;
      return `${routerText(d)} of BGPPeer "${d.peer}" acknowledged or read nothing that the node sent`;
    },
    fix: (d) =>
      `check the path ${d.kind === 'us' ? 'between node and router, both ways' : 'from the node to the router'}: link, filters of TCP port 179, MTU; and the load of both sides`,
  }),
  BFDDown: outageReason({
    brief: 'BFD with the router is down',
    cause: (d: Outage & Texts<'why' | 'profile'> & { readonly tcpWorks: boolean }) =>
      d.tcpWorks
        ? `BFD with "${d.peer}" (${d.router}) is down (${d.why}) although the TCP connection works: the session runs without BFD`
        : `BFD with "${d.peer}" (${d.router}) went down (${d.why}), and the session was closed for that`,
    fix: (d) =>
      `${d.tcpWorks ? '' : 'check the path to the router; if it works, '}open UDP port 3784 (4784 over several hops) both ways, check BFD on the router (${neighbor(d)} bfd), and make its intervals and those of BFDProfile "${d.profile}" long enough`,
  }),
  PeerClosed: outageReason({
    brief: 'The router closed the session',
    // `subcode`: that of Cease (RFC 4486); 0: the connection ended without a NOTIFICATION.
    cause: (d: Outage & Texts<'why'> & Numbers<'subcode' | 'localASN'>) =>
      `${routerText(d)} closed the session with BGPPeer "${d.peer}": ${d.why}`,
    fix: (d) => closedRemedy(d),
  }),
  PeerFamilyMismatch: outageReason({
    brief: 'BGPPeer and router have no address family in common',
    cause: (d: Outage & Texts<'why' | 'families'>) => `${routerText(d)} and BGPPeer "${d.peer}" have no address family in common: ${d.why}`,
    lasting: (d) => {
      const families = d.families.split(' ').map((family) => family.replace('ip', 'IP'));
      return `${routerText(d)} ${families.length === 1 ? 'does not offer the address family' : 'offers none of the address families'} of BGPPeer "${d.peer}" (${families.join(' and ')})`;
    },
    fix: (d) =>
      `activate the neighbor on the router: ${d.families
        .split(' ')
        .map((family) => `address-family ${family} unicast, ${neighbor(d)} activate`)
        .join('; ')}; spec.dualStackAddressFamily of BGPPeer "${d.peer}" adds the other family`,
  }),
  PeerFamilyNotNegotiated: lastingReason({
    brief: 'The session is up without an address family that the router did not offer',
    // `isAdded`: only dualStackAddressFamily asks for the family.
    says: (d: Pick<Outage, 'peer' | 'router' | 'local'> & Texts<'family'> & { readonly isAdded: boolean }) =>
      `the session with BGPPeer "${d.peer}" is up without ${d.family}: ${routerText(d)} did not offer it`,
    fix: (d) =>
      `configure on the router: address-family ${d.family.toLowerCase()} unicast, ${neighbor(d)} activate${d.isAdded ? `; or, if another BGPPeer carries ${d.family}, set spec.dualStackAddressFamily: false in BGPPeer "${d.peer}"` : ''}`,
  }),
  PeerGracefulRestartNotNegotiated: lastingReason({
    brief: 'The session is up without graceful restart, which the router did not offer',
    says: (d: Pick<Outage, 'peer' | 'router' | 'local'>) =>
      `the session with BGPPeer "${d.peer}" is up without graceful restart: ${routerText(d)} did not offer it, and drops the routes of this node while its agent restarts`,
    fix: (d) =>
      `configure on the router: ${neighbor(d)} graceful-restart-helper, and reset the session there; or set spec.enableGracefulRestart: false in BGPPeer "${d.peer}"`,
  }),
  HoldTimeRejected: outageReason({
    brief: 'BGPPeer and router do not agree on a hold time',
    cause: (d: Outage & Texts<'why'> & Numbers<'seconds'> & { readonly by: By }) =>
      d.by === 'us'
        ? `the hold time of ${routerText(d)} is not possible for BGPPeer "${d.peer}": ${d.why}`
        : `${routerText(d)} refuses spec.holdTime: ${d.seconds}s of BGPPeer "${d.peer}"`,
    fix: (d) =>
      d.by === 'us'
        ? `configure on the router: ${neighbor(d)} timers 3 9, or longer`
        : `set spec.holdTime of BGPPeer "${d.peer}" to at least the router's minimum (FRR: bgp minimum-holdtime)`,
  }),
  RouterIDRejected: outageReason({
    brief: 'One side does not accept the router ID of the other',
    cause: (d: Outage & Texts<'routerID' | 'why'> & { readonly by: By }) =>
      d.by === 'us'
        ? `the router ID of ${routerText(d)} is not possible for BGPPeer "${d.peer}", where this node has ${d.routerID}: ${d.why}`
        : `${routerText(d)} refuses router ID ${d.routerID} of this node (BGPPeer "${d.peer}"): it has the same, or another session with it`,
    lasting: (d) =>
      `the router ID of this node (${d.routerID} with BGPPeer "${d.peer}") or that of ${routerText(d)} is refused by the other side`,
    fix: (d) =>
      `give every node and router its own: bgp router-id on the router; on this node its first IPv4 InternalIP, or spec.routerID of a BGPPeer that selects this node only (now ${d.routerID})`,
  }),
  PeerProtocolError: outageReason({
    brief: 'One side refused a message of the other',
    // `noBgpAt`: the TCP port where something else than BGP answered the first time.
    cause: (d: Outage & Texts<'why'> & { readonly by: By; readonly noBgpAt?: number }) => {
      if (d.noBgpAt !== undefined)
        return `${routerText(d)} of BGPPeer "${d.peer}" answers at TCP port ${d.noBgpAt}, but not in BGP: ${d.why}`;
      return d.by === 'us'
        ? `${routerText(d)} of BGPPeer "${d.peer}" sent a message that BGP does not allow: ${d.why}`
        : `${routerText(d)} refused a message of BGPPeer "${d.peer}": ${d.why}`;
    },
    fix: (d) =>
      d.noBgpAt === undefined
        ? seeMessages(d)
        : `correct spec.peerAddress and spec.peerPort of BGPPeer "${d.peer}": another program listens there; if it is the BGP speaker, ${seeMessages(d)}`,
  }),
};

const seeMessages = ({ peer }: Outage): string =>
  `see the messages on the node: herald bgp trace --peer ${peer}; and the log of the router`;

/** Names the line of the router, or says that nothing is to be done. */
function closedRemedy(d: Outage & Numbers<'subcode' | 'localASN'>): string {
  switch (d.subcode) {
    case 1:
      return `raise the limit on the router (${neighbor(d)} maximum-prefix), or announce fewer routes: spec.aggregationLength of the BGPAdvertisements`;
    case 2:
      return `end the shutdown on the router: no ${neighbor(d)} shutdown`;
    case 3:
      return `configure the neighbor on the router again: ${neighbor(d)} remote-as ${d.localASN}; or delete BGPPeer "${d.peer}"`;
    case 4:
    case 6:
      return 'wait until the router takes the session again; its operator reset it or changed its configuration';
    case 5:
    case 7:
      return 'stop any other BGP speaker on the node (Calico, Cilium, MetalLB); without one, wait until the router notices that an earlier connection has ended';
    case 8:
      return 'check memory and session limits of the router';
    default:
      return 'read the log of the router: its BGP process may have ended or restarted';
  }
}
