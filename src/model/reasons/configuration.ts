import { lastingReason, reasonEntry, type Numbers, type Texts } from './entry.ts';

/** `kind`: BGPAdvertisement or L2Advertisement. */
export interface OfAdvertisement {
  readonly kind: string;
  readonly advertisement: string;
}

/** Reasons why a configuration object is not used although each of its fields is valid. */
export const configurationReasons = {
  PoolOverlaps: lastingReason({
    brief: 'The pool overlaps another pool',
    says: (d: Texts<'pool' | 'range' | 'other' | 'otherRange'>) =>
      `pool "${d.pool}" gives no addresses: ${d.range} overlaps ${d.otherRange} of IPAddressPool "${d.other}", which came first`,
    fix: (d) => `make the addresses of IPAddressPool "${d.pool}" disjoint from those of the others`,
  }),
  PoolHoldsNodeAddress: reasonEntry({
    brief: 'The pool holds the address of a Node',
    says: (d: Texts<'pool' | 'node' | 'address'>) =>
      `IPAddressPool "${d.pool}" holds ${d.address}, an address of node "${d.node}": no Service gets it`,
    lasting: (d) => `IPAddressPool "${d.pool}" holds ${d.address}, an address of node "${d.node}"`,
    fix: (d) => `leave ${d.address} out of IPAddressPool "${d.pool}"`,
  }),
  PoolHoldsPeerAddress: reasonEntry({
    brief: 'The pool holds the address of a BGPPeer',
    says: (d: Texts<'pool' | 'peer' | 'address'>) =>
      `IPAddressPool "${d.pool}" holds ${d.address}, spec.peerAddress of BGPPeer "${d.peer}": no Service gets it`,
    lasting: (d) => `IPAddressPool "${d.pool}" holds ${d.address}, spec.peerAddress of BGPPeer "${d.peer}"`,
    fix: (d) => `leave ${d.address} out of spec.addresses of IPAddressPool "${d.pool}"`,
  }),
  PoolHoldsServiceCIDR: reasonEntry({
    brief: 'The pool overlaps the range of ClusterIPs',
    says: (d: Texts<'pool' | 'range' | 'cidr' | 'from'>) =>
      `${d.range} of IPAddressPool "${d.pool}" overlaps ${d.cidr} (${d.from}), the addresses of ClusterIPs: no Service gets one of these from the pool`,
    lasting: (d) => `${d.range} of IPAddressPool "${d.pool}" overlaps ${d.cidr} (${d.from})`,
    fix: (d) => `leave ${d.cidr} out of spec.addresses of IPAddressPool "${d.pool}"`,
  }),
  PoolHoldsPodCIDR: reasonEntry({
    brief: 'The pool overlaps a range of pod addresses',
    says: (d: Texts<'pool' | 'range' | 'cidr' | 'from'>) =>
      `${d.range} of IPAddressPool "${d.pool}" overlaps ${d.cidr} (${d.from}), the addresses of pods: no Service gets one of these`,
    lasting: (d) => `${d.range} of IPAddressPool "${d.pool}" overlaps ${d.cidr} (${d.from})`,
    fix: (d) => `leave ${d.cidr} out of spec.addresses of IPAddressPool "${d.pool}"`,
  }),
  PoolHoldsOtherAddress: reasonEntry({
    brief: 'The pool holds an address that belongs to something else',
    says: (d: Texts<'pool' | 'address' | 'of'>) => `IPAddressPool "${d.pool}" holds ${d.address}, ${d.of}: no Service gets it`,
    lasting: (d) => `IPAddressPool "${d.pool}" holds ${d.address}, ${d.of}`,
    fix: (d) => `leave ${d.address} out of spec.addresses of IPAddressPool "${d.pool}"`,
  }),
  DuplicatePeer: reasonEntry({
    brief: 'Another BGPPeer has the same address',
    says: (d: Texts<'address' | 'other'>) => `BGPPeer "${d.other}" already peers with ${d.address} on the same nodes`,
    fix: () => 'delete one of them, or let nodeSelectors keep them on different nodes',
  }),
  DuplicateRouterID: reasonEntry({
    brief: 'Two nodes use the same router ID in their sessions with the BGPPeer',
    says: (d: Texts<'peer' | 'routerID' | 'node' | 'other'>) =>
      `nodes "${d.node}" and "${d.other}" both use router ID ${d.routerID} in their sessions with "${d.peer}", and some routers accept only one of them (RFC 6286)`,
    fix: (d) =>
      `remove routerID from BGPPeer "${d.peer}", so that each node uses its own IPv4 InternalIP, and check that no two Nodes have the same`,
  }),
  AggregationTooShort: reasonEntry({
    brief: 'The aggregate covers more than the block that it is made for',
    // `of` names the owner of the prefix, such as: IPAddressPool "production".
    says: (d: Texts<'advertisement' | 'field' | 'of' | 'prefix'> & Numbers<'length'>) =>
      `${d.field} ${d.length} of BGPAdvertisement ${d.advertisement} would cover addresses outside ${d.prefix} of ${d.of}`,
    fix: (d) => `set spec.${d.field} of BGPAdvertisement ${d.advertisement} to ${d.prefix.slice(d.prefix.indexOf('/') + 1)} or more`,
  }),
  ObjectUnreadable: reasonEntry({
    brief: 'A field of the object cannot be used',
    says: (d: Texts<'field' | 'problem' | 'remedy'> & { readonly inForce: boolean }) =>
      `${d.field === '' ? 'the object' : d.field} ${d.problem}${d.inForce ? '; its previous version stays in force until the controller or an agent restarts' : ''}`,
    fix: (d) => d.remedy,
  }),
  UnknownPool: reasonEntry({
    brief: 'An advertisement names an IPAddressPool that does not exist',
    // `keeper`: a Service that keeps an address of the pool, which the advertisement covers.
    says: (d: OfAdvertisement & Texts<'pool'> & Partial<Texts<'meant' | 'keeper'>>) =>
      `${d.kind} "${d.advertisement}" names IPAddressPool "${d.pool}", which does not exist; it is in force for those of its names that do${d.keeper === undefined ? '' : `, and for the address that Service ${d.keeper} keeps of "${d.pool}"`}`,
    fix: (d) =>
      d.keeper === undefined
        ? nameFix('IPAddressPool', d.pool, d.meant)
        : `create IPAddressPool "${d.pool}", or remove the name when no Service keeps an address of the pool any more`,
  }),
  UnknownPeer: reasonEntry({
    brief: 'A BGPAdvertisement names a BGPPeer that does not exist',
    says: (d: Texts<'advertisement' | 'peer'> & Partial<Texts<'meant'>>) =>
      `BGPAdvertisement "${d.advertisement}" names BGPPeer "${d.peer}", which does not exist; it is in force for those of its names that do`,
    fix: (d) => nameFix('BGPPeer', d.peer, d.meant),
  }),
  AdvertisesNothing: reasonEntry({
    brief: 'The advertisement has no effect',
    says: (d: OfAdvertisement & Texts<'lacking'>) => `${d.kind} "${d.advertisement}" has no effect: ${d.lacking}`,
    fix: () => 'change what it selects, or create what is missing',
  }),
  PeerSelectsNoNode: reasonEntry({
    brief: 'No node has a session with the BGPPeer',
    says: (d: Texts<'peer'>) => `nodeSelectors of BGPPeer "${d.peer}" select no node`,
    fix: (d) => `change nodeSelectors of BGPPeer "${d.peer}", or label the nodes`,
  }),
  PeerAdminDown: reasonEntry({
    brief: 'The BGPPeer is shut down',
    says: (d: Texts<'peer'>) => `BGPPeer "${d.peer}" has adminDown: true`,
    fix: () => 'set adminDown: false to start its sessions again',
  }),
  SessionsMissing: reasonEntry({
    brief: 'Not every node has its session with the peer',
    says: (d: Texts<'peer'> & Numbers<'established' | 'expected'>) =>
      `${d.established} of ${d.expected} sessions with BGPPeer "${d.peer}" are established`,
    fix: (d) => `find out why sessions are not Established: herald explain peer ${d.peer} shows the cause for each node`,
  }),
  UnknownReason: reasonEntry({
    brief: 'Another version of Herald gives a reason that this one does not know',
    says: (d: Texts<'code' | 'text'>) => (d.text === '' ? d.code : `${d.code}: ${d.text}`),
    fix: () => '',
  }),
};

/** `meant`: the existing name that is most like the unknown one. */
function nameFix(kind: string, name: string, meant: string | undefined): string {
  return meant === undefined
    ? `create ${kind} "${name}", or remove the name`
    : `did you mean "${meant}"? Else create ${kind} "${name}", or remove the name`;
}
