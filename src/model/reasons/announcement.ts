import { nearestText, restoreText, type OutsidePools } from './allocation.ts';
import { lastingReason, reasonEntry, type Numbers, type Texts } from './entry.ts';

export interface OnNode {
  readonly node: string;
}

/** `cause` is the text of the problem of the host, and `remedy` its fix. */
export interface HeldBack extends OnNode {
  readonly family: string;
  readonly cause: string;
  readonly remedy: string;
}

export interface FamilyNotCarried {
  readonly peer: string;
  readonly family: string;
  /**
   * Other BGPPeers of the node for the same AS and with the family: they carry the address, no advertisement names them, or there are none.
   */
  readonly others: 'carry' | 'unnamed' | 'none';
  /** The names of those that carry it, quoted. */
  readonly names: string;
  /** The advertisements of the address. */
  readonly advertisements: string;
}

/** Reasons why a node does not announce an address, to any peer or to one of them. */
export const announcementReasons = {
  NoAddress: reasonEntry({
    brief: 'The Service has no address',
    says: () => 'the Service has no address yet: the controller has not assigned one',
    fix: () => 'check with herald status that a controller runs and leads',
  }),
  AddressNotFromPool: reasonEntry({
    brief: 'The address is in no pool',
    says: (d: OutsidePools) => `${d.address} is in no valid IPAddressPool${nearestText(d)}`,
    fix: (d) => `${restoreText(d)}, or have it assigned anew: annotate the Service with herald.dev/address-pool: POOL`,
  }),
  NoAdvertisement: reasonEntry({
    brief: 'No advertisement covers the address',
    // `former`: the pool that contained the address.
    says: (d: Texts<'type'> & { readonly former?: string }) =>
      d.former !== undefined
        ? `no BGPAdvertisement or L2Advertisement covers pool "${d.former}", which contained the address`
        : d.type === 'LoadBalancer'
          ? 'no BGPAdvertisement or L2Advertisement covers this LoadBalancer address'
          : `no BGPAdvertisement covers this ${d.type} address`,
    fix: (d) =>
      d.former !== undefined
        ? 'add the address to spec.addresses of an IPAddressPool that is announced; or annotate the Service with herald.dev/address-pool: POOL, which gives it another address'
        : d.type === 'LoadBalancer'
          ? 'create a BGPAdvertisement (routers) or an L2Advertisement (a link without routers) that selects its pool'
          : `create a BGPAdvertisement with addressTypes: [${d.type}] that selects it`,
  }),
  ServiceDrained: reasonEntry({
    brief: 'The Service is drained',
    says: () => 'the Service has the annotation herald.dev/drain: it keeps its addresses, and no node announces them',
    fix: () => 'remove the annotation to have them announced again',
  }),
  AdvertisingOff: reasonEntry({
    brief: 'Announcing addresses of this type is switched off',
    says: (d: Texts<'type' | 'annotation' | 'by'>) => `${d.by} switches off announcing ${d.type} addresses`,
    fix: (d) => `to have them announced, set the annotation ${d.annotation}: "true" on the Service`,
  }),
  NodeNotSelected: reasonEntry({
    brief: 'No BGPAdvertisement selects the node',
    says: (d: OnNode & Texts<'advertisements'>) =>
      `spec.nodeSelectors of ${d.advertisements}, which cover${d.advertisements.startsWith('BGPAdvertisements') ? '' : 's'} this address, do not match node "${d.node}"`,
    fix: (d) => `change spec.nodeSelectors of ${d.advertisements}, or label the node`,
  }),
  ServiceNotSelected: reasonEntry({
    brief: 'No BGPAdvertisement selects the Service',
    says: (d: Texts<'advertisements'>) => `spec.serviceSelectors of ${d.advertisements} do not match the labels of the Service`,
    fix: (d) => `change spec.serviceSelectors of ${d.advertisements}, or label the Service`,
  }),
  ConflictingAdvertisements: reasonEntry({
    brief: 'BGPAdvertisements ask for different attributes',
    says: (d: Texts<'prefix' | 'peer' | 'advertisements' | 'field'>) =>
      `BGPAdvertisements ${d.advertisements} ask for different ${d.field} on ${d.prefix} to peer "${d.peer}"`,
    fix: (d) => `make spec.${d.field} of BGPAdvertisements ${d.advertisements} equal, or let them select different pools, peers or nodes`,
  }),
  UnknownCommunity: reasonEntry({
    brief: 'A BGPAdvertisement names an unknown community',
    says: (d: Texts<'community' | 'advertisement'>) =>
      `BGPAdvertisement "${d.advertisement}" names community "${d.community}", which no Community object defines`,
    fix: () => 'define the alias in a Community object, or write the value',
  }),
  NodeUnknown: reasonEntry({
    brief: 'There is no Node object',
    says: (d: OnNode) => `there is no Node object "${d.node}"`,
    fix: (d) => `create the Node object, or start the agent with the name of an existing one (now --node ${d.node})`,
  }),
  NodeNotThisHost: reasonEntry({
    brief: 'The agent of the node runs on another host',
    says: (d: OnNode & Texts<'addresses' | 'host'>) =>
      `the agent with --node ${d.node} runs on a host that has no InternalIP of Node "${d.node}" (${d.addresses}): it announces nothing. The host has ${d.host}`,
    lasting: (d) =>
      `the agent with --node ${d.node} runs on a host that has no InternalIP of Node "${d.node}" (${d.addresses}): it announces nothing`,
    fix: (d) => `start the agent with --node and the name of its own host's Node, or correct status.addresses of Node "${d.node}"`,
  }),
  NodeWithoutInternalIP: reasonEntry({
    brief: 'The Node has no InternalIP',
    says: (d: OnNode) =>
      `Node "${d.node}" has no InternalIP, so the agent cannot tell whether it runs on the right host, and serves no NodePorts; it announces nevertheless`,
    fix: (d) => `add an address of type InternalIP to status.addresses of Node "${d.node}" (kubelet: --node-ip)`,
  }),
  NodeNetworkUnavailable: reasonEntry({
    brief: 'The node has no network',
    says: (d: OnNode) => `node "${d.node}" has condition NetworkUnavailable=True`,
    fix: () => 'wait for, or repair, the network plugin of the node',
  }),
  NodeExcluded: reasonEntry({
    brief: 'The node is excluded from load balancers',
    says: (d: OnNode) => `node "${d.node}" has the label node.kubernetes.io/exclude-from-external-load-balancers`,
    fix: () => 'remove the label if the node should take traffic (kubeadm sets it on control planes)',
  }),
  NodeDraining: reasonEntry({
    brief: 'The node is drained: its routes carry GRACEFUL_SHUTDOWN',
    says: (d: OnNode) =>
      `node "${d.node}" is drained: its routes carry the community GRACEFUL_SHUTDOWN, and are withdrawn after routers had time to switch to other routes`,
    fix: () => 'to end the drain, remove the annotation herald.dev/drain from the Node, or the taint',
  }),
  NodeDrained: reasonEntry({
    brief: 'The node is drained',
    says: (d: OnNode) => `node "${d.node}" is drained: it has withdrawn its routes`,
    fix: () => 'to end the drain, remove the annotation herald.dev/drain from the Node, or the taint',
  }),
  LastNextHop: reasonEntry({
    brief: 'Only a drained node announces the address: its route stays, with GRACEFUL_SHUTDOWN',
    says: (d: OnNode) =>
      `node "${d.node}" is drained, but no other node announces the address: its route stays, with the community GRACEFUL_SHUTDOWN`,
    fix: () => 'let another node announce it; or set herald.dev/drain: "force" on the Node to withdraw it',
  }),
  HoldBackPending: reasonEntry({
    brief: 'The node cannot forward the address family: it is about to withdraw its routes',
    says: (d: HeldBack) =>
      `node "${d.node}" does not forward ${d.family} (${d.cause}): it withdraws its ${d.family} routes in a few seconds unless that ends`,
    fix: (d) => d.remedy,
  }),
  NodeHeldBack: lastingReason({
    brief: 'The node cannot forward the address family: it holds its routes back',
    says: (d: HeldBack) => `node "${d.node}" does not forward ${d.family} (${d.cause}): it has withdrawn its ${d.family} routes`,
    fix: (d) => d.remedy,
  }),
  HeldBackLastNextHop: lastingReason({
    brief: 'Only nodes that cannot forward the address family announce the address',
    says: (d: HeldBack) =>
      `node "${d.node}" does not forward ${d.family} (${d.cause}), but no node that does announces the address: it stays announced there`,
    fix: (d) => d.remedy,
  }),
  EndpointsCutOff: lastingReason({
    brief: 'Connections to endpoints on a node that does not forward time out',
    says: (d: HeldBack) =>
      `node "${d.node}" does not forward ${d.family} (${d.cause}): connections that other nodes send to its endpoints time out`,
    fix: (d) => d.remedy,
  }),
  NoLocalEndpoints: reasonEntry({
    brief: 'No endpoint on the node can take traffic',
    says: (d: OnNode & Texts<'policy'>) => `${d.policy} is Local and no endpoint on node "${d.node}" can take traffic`,
    fix: (d) =>
      `run a ready pod of the Service on the node, or set spec.${d.policy}: Cluster; nothing to do while another node announces the address`,
  }),
  EndpointsTerminating: reasonEntry({
    brief: 'The endpoints on the node are terminating, and another node has ready ones',
    says: (d: OnNode & Texts<'other'>) =>
      `the endpoints on node "${d.node}" terminate, and node "${d.other}" has a ready one: this node is used only if there is no other`,
    fix: () => 'nothing to do: the node is left out when they have ended',
  }),
  NoEndpoints: reasonEntry({
    brief: 'No endpoint can take traffic',
    says: (d: Numbers<'endpoints'>) =>
      d.endpoints === 0 ? 'the Service has no endpoints' : `none of the ${d.endpoints} endpoint(s) is ready or serving`,
    fix: () => "check the Service's selector and the readiness of its pods",
  }),
  EndpointPortsDiffer: lastingReason({
    brief: 'The EndpointSlices lack the ports of the Service',
    says: (d: Texts<'ports' | 'slices'>) =>
      `the Service has the port ${d.ports}, and its EndpointSlices have ${d.slices}: ports belong together by name and protocol`,
    fix: () => 'give the port the same name and protocol in spec.ports of the Service and in its EndpointSlices',
    field: 'spec.ports',
  }),
  BeyondMaxNextHops: lastingReason({
    brief: 'As many other nodes announce the address as maxNextHops allows',
    says: (d: OnNode & Texts<'advertisement' | 'prefix' | 'others'> & Numbers<'most'>) =>
      `spec.maxNextHops of BGPAdvertisement "${d.advertisement}" is ${d.most}, and ${d.others} come${d.most === 1 ? 's' : ''} before node "${d.node}" for ${d.prefix}`,
    fix: (d) => `nothing to do; for more next hops raise spec.maxNextHops of BGPAdvertisement "${d.advertisement}"`,
  }),
  NoPeers: reasonEntry({
    brief: 'The node has no BGP peer',
    says: (d: OnNode) => `no BGPPeer selects node "${d.node}"`,
    fix: () => 'create a BGPPeer whose nodeSelectors match the node',
  }),
  PeerNotInAdvertisement: reasonEntry({
    brief: 'The BGPAdvertisement does not name the peer',
    says: (d: Texts<'peer' | 'advertisements'>) => `spec.peers of ${d.advertisements} does not name peer "${d.peer}"`,
    fix: (d) => `add "${d.peer}" to spec.peers of ${d.advertisements}`,
  }),
  PeerFamilyNotCarried: reasonEntry({
    brief: 'The session does not carry the address family',
    says: (d: FamilyNotCarried) =>
      `the session with "${d.peer}" does not carry ${d.family}${d.others === 'carry' ? `; BGPPeers of the same AS that carry it: ${d.names}` : ''}`,
    fix: (d) => {
      if (d.others === 'carry') return '';
      const set = `set dualStackAddressFamily: true on BGPPeer "${d.peer}"`;
      if (d.others === 'none') return `${set}, or add a BGPPeer with an ${d.family} address`;
      return `${set}, or name in spec.peers of ${d.advertisements} a BGPPeer of this router that carries ${d.family}`;
    },
  }),
  ExternalIPNotAllowed: reasonEntry({
    brief: 'No ExternalIPPolicy allows the external IP',
    says: (d: Texts<'address' | 'namespace'>) => `no ExternalIPPolicy allows namespace "${d.namespace}" the external IP ${d.address}`,
    fix: (d) =>
      `create an ExternalIPPolicy with ${d.address} in spec.cidrs and namespace "${d.namespace}" in spec.namespaceSelector, or remove ${d.address} from spec.externalIPs of the Service (CVE-2020-8554 is why it is denied)`,
  }),
  AgentSilent: reasonEntry({
    brief: 'The agent of the node does not report',
    says: (d: OnNode) => `no agent reports for node "${d.node}"`,
    fix: (d) => `start the agent: ${agentOf(d.node)}`,
  }),
  AgentStopped: reasonEntry({
    brief: 'The agent of the node was stopped',
    says: (d: OnNode) =>
      `the agent of node "${d.node}" was stopped: it announces nothing; routers with graceful restart keep its routes until their restart time ends`,
    fix: (d) => `start it again: ${agentOf(d.node)}`,
  }),
  AgentOtherVersion: reasonEntry({
    brief: 'The agent of the node is of another version and does not report this',
    // Empty `version`: the agent is older than the first one that reports it.
    says: (d: OnNode & Texts<'version' | 'what' | 'ours'>) =>
      `the agent of node "${d.node}" is of ${d.version === '' ? 'an older version' : `version ${d.version}`} and does not report ${d.what}`,
    fix: (d) => `run one version of Herald in the whole cluster; this program is of version ${d.ours}`,
  }),
  SessionDown: reasonEntry({
    brief: 'The BGP session is down',
    says: (d: Texts<'peer' | 'state' | 'lastError'>) =>
      `the session with "${d.peer}" is ${d.state}${d.lastError === '' ? '' : `: ${d.lastError}`}`,
    fix: () => 'check on both sides: address, port 179, AS numbers, password, and the route between them',
  }),
  SessionHeldBack: reasonEntry({
    brief: 'The BGP session is held back because it flaps',
    says: (d: Texts<'peer' | 'until' | 'lastError'> & Numbers<'flaps'>) =>
      `the session with "${d.peer}" is held back until ${d.until}, because it went down ${d.flaps} times in the last hour${d.lastError === '' ? '' : `, last because: ${d.lastError}`}`,
    lasting: (d) => `the session with "${d.peer}" is held back, because it goes down again and again`,
    fix: (d) =>
      `find out from the logs of both sides why it flaps (link, router, load); flapDamping: false in BGPPeer "${d.peer}" lets it reconnect at once`,
  }),
  PeerPasswordMissing: reasonEntry({
    brief: 'The Secret with the session password is missing',
    says: (d: Texts<'peer' | 'secret' | 'why'>) => `BGPPeer "${d.peer}" needs Secret ${d.secret}: ${d.why}`,
    fix: (d) => `create Secret ${d.secret} of type kubernetes.io/basic-auth with the key password`,
  }),
  PeerPasswordGone: reasonEntry({
    brief: 'The Secret with the session password is gone; a session that already uses the password keeps running, others end',
    says: (d: Texts<'peer' | 'secret' | 'why'>) =>
      `Secret ${d.secret} of "${d.peer}" cannot be used: ${d.why}; a session that already uses its password keeps running, others end`,
    fix: (d) =>
      `create Secret ${d.secret} of type kubernetes.io/basic-auth with the key password: without it a restarted agent has no session`,
  }),
  BFDProfileMissing: reasonEntry({
    brief: 'The BFDProfile of the peer is missing; sessions that already use BFD keep it, others run without',
    says: (d: Texts<'peer' | 'profile'>) =>
      `BFDProfile "${d.profile}" of "${d.peer}" does not exist: sessions that already use BFD keep it, others run without BFD`,
    fix: (d) => `create BFDProfile "${d.profile}", or remove bfdProfile from BGPPeer "${d.peer}"`,
  }),
  StrictBFDProfileMissing: reasonEntry({
    brief: 'The BFDProfile of a peer with bfdStrict is missing; established sessions continue, new ones cannot start',
    says: (d: Texts<'peer' | 'profile'>) =>
      `BFDProfile "${d.profile}" of "${d.peer}" does not exist, and bfdStrict allows no session without BFD: established sessions continue as they are, new ones cannot start`,
    fix: (d) => `create BFDProfile "${d.profile}", or remove bfdStrict from BGPPeer "${d.peer}"`,
  }),
  BFDAwaited: reasonEntry({
    brief: 'The session waits for BFD, as bfdStrict of the peer asks',
    says: (d: Texts<'peer' | 'why'>) => `the session with "${d.peer}" waits for BFD (bfdStrict): ${d.why}`,
    fix: (d) =>
      `check that the router runs BFD with this node even while BGP is down, and that UDP port 3784 (4784 over several hops) is open both ways; or remove bfdStrict from BGPPeer "${d.peer}"`,
  }),
  BFDNotPossible: reasonEntry({
    brief: 'BFD cannot monitor the path to the peer; the session runs without',
    says: (d: Texts<'peer' | 'problem'>) => `the session with "${d.peer}" runs without BFD: ${d.problem}`,
    fix: (d) => `remove the cause, or bfdProfile from BGPPeer "${d.peer}"`,
  }),
  PeerNotPossible: reasonEntry({
    brief: 'The BGPPeer asks for something that the speaker cannot do',
    // `keeps`: the session that exists continues with its earlier settings. Older agents give neither it nor a remedy.
    says: (d: Texts<'peer' | 'problem'> & { readonly remedy?: string; readonly keeps?: boolean }) =>
      d.keeps === true
        ? `the session with "${d.peer}" keeps its earlier settings, because its present ones are not possible: ${d.problem}`
        : `no session with "${d.peer}" is possible: ${d.problem}`,
    fix: (d) => d.remedy ?? `change BGPPeer "${d.peer}"`,
  }),
  PeerIsOwnAddress: reasonEntry({
    brief: 'The address of the BGPPeer belongs to the node itself',
    says: (d: OnNode & Texts<'peer' | 'address' | 'interface'>) =>
      `${d.address}, spec.peerAddress of BGPPeer "${d.peer}", is an address of node "${d.node}" itself (${d.interface}): there can be no session with it`,
    fix: (d) =>
      `set spec.peerAddress of BGPPeer "${d.peer}" to the address of the router, or let its nodeSelectors leave out node "${d.node}"`,
  }),
  PeerSourceMissing: reasonEntry({
    brief: 'The interface that gives the source of the session has no address for it',
    says: (d: OnNode & Texts<'peer' | 'interface' | 'family' | 'what'>) =>
      d.what === 'interface'
        ? `node "${d.node}" has no interface ${d.interface} that is up and has an address, spec.sourceInterface of BGPPeer "${d.peer}"`
        : `${d.interface} of node "${d.node}", spec.sourceInterface of BGPPeer "${d.peer}", has no ${d.family} address that a router can reach`,
    fix: (d) =>
      `give ${d.interface} of node "${d.node}" an ${d.family} address (ip address add ADDRESS dev ${d.interface}), or change spec.sourceInterface of BGPPeer "${d.peer}"`,
  }),
  NextHopNotOnLink: reasonEntry({
    brief: 'The next hop of an address family is not on the link to the router',
    says: (d: OnNode & Texts<'peer' | 'family' | 'address' | 'interface'>) =>
      `the next hop of ${d.family} routes to "${d.peer}" is ${d.address}, and ${d.interface} of node "${d.node}", the link to the router, has no global ${d.family} address: the router may not reach the next hop`,
    fix: (d) => `give ${d.interface} of node "${d.node}" a global ${d.family} address, or let the router have a route to ${d.address}`,
  }),
  PrefixContended: lastingReason({
    brief: 'A router has a path to the address from another speaker',
    says: (d: Contended) =>
      `router ${d.router} (BGPPeer "${d.peer}") prefers another path for ${d.received}${d.received === d.prefix ? '' : `, which lies in ${d.prefix}`}: next hop ${d.nextHop}, ${d.asPath === '' ? 'an empty AS path' : `AS path ${d.asPath}`}: another speaker announces this address`,
    fix: (d) =>
      `find it on the router: show bgp ipv${d.received.includes(':') ? '6' : '4'} unicast ${d.received}; take the address out of the pool of the other cluster or speaker, or out of the pool here`,
  }),
  RouteNotPossible: reasonEntry({
    brief: 'The session cannot carry the route',
    says: (d: Texts<'peer' | 'prefix' | 'why'>) => `${d.prefix} cannot be announced to "${d.peer}": ${d.why}`,
    fix: ({ peer, why }) => {
      if (why.includes('RFC 8950'))
        return `configure on the router: neighbor capability extended-nexthop; or let a BGPPeer with an IPv4 spec.peerAddress announce IPv4 routes, and remove them from BGPPeer "${peer}"`;
      if (why.includes('no global IPv6 address'))
        return `give the interface that leads to the router of BGPPeer "${peer}" a global IPv6 address`;
      if (why.includes('octets')) return 'name fewer communities in the BGPAdvertisements that announce it';
      return `let another BGPPeer than "${peer}" announce it (spec.peers of the BGPAdvertisement)`;
    },
  }),
  UnreachableRouteMissing: reasonEntry({
    brief: 'The aggregate has no unreachable route on the node',
    says: (d: Texts<'prefix' | 'error'>) =>
      `the unreachable route for the aggregate ${d.prefix} cannot be set (${d.error}), and without it packets to its unused addresses would loop`,
    fix: () => 'it is retried; check that no other program uses routing table 152',
  }),
  NotProgrammed: reasonEntry({
    brief: 'The forwarding rules are not in the kernel',
    says: (d: Texts<'frontend'>) => `the rules for ${d.frontend} are not in the kernel yet; a route is announced after its rules`,
    fix: () => 'see Programmed',
  }),
};

/** An agent runs in a Pod of a DaemonSet, or as a service of its host. */
const agentOf = (node: string): string => `the pod of DaemonSet herald-agent on ${node}; outside a cluster, herald agent --node ${node}`;

/** `prefix`: that of the node. `received`: that of the other path: the same, or a part of it. */
type Contended = Texts<'peer' | 'router' | 'prefix' | 'received' | 'nextHop' | 'asPath'>;
