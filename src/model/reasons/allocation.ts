import { lastingReason, reasonEntry, type Numbers, type Texts } from './entry.ts';

export interface OfPool {
  readonly pool: string;
}

/** An address and the range of a pool nearest to it; "" when no pool has its family. */
export interface OutsidePools extends OfPool {
  readonly address: string;
  readonly range: string;
}

export function nearestText({ pool, range }: OutsidePools): string {
  return pool === '' ? '' : `; the nearest is ${pool} (${range})`;
}

export function restoreText({ address, pool }: OutsidePools): string {
  return pool === '' ? `create an IPAddressPool that contains ${address}` : `add ${address} to spec.addresses of IPAddressPool ${pool}`;
}

/** Reasons why a Service has no address, or a pool did not assign one. */
export const allocationReasons = {
  NotLoadBalancer: reasonEntry({
    brief: 'The Service is not of type LoadBalancer',
    says: (d: Texts<'type'>) => `the Service is of type ${d.type}, which takes no address from a pool`,
    fix: () => 'set spec.type: LoadBalancer',
  }),
  OtherLoadBalancerClass: reasonEntry({
    givesAway: true,
    brief: 'The Service belongs to another load balancer class',
    says: (d: Texts<'class' | 'ours'>) =>
      `spec.loadBalancerClass is ${d.class === '' ? 'not set' : `"${d.class}"`}; Herald's is "${d.ours}"`,
    fix: (d) => `set spec.loadBalancerClass: ${d.ours} (the field is immutable: create the Service anew)`,
  }),
  ClassNotSet: reasonEntry({
    brief: 'The Service has no load balancer class, and HeraldConfig/default leaves such Services to another controller',
    says: (d: Texts<'ours'>) =>
      `spec.loadBalancerClass is not set, and HeraldConfig/default does not set defaultClass: true, so Herald ("${d.ours}") leaves the Service to another controller`,
    fix: (d) =>
      `set spec.loadBalancerClass: ${d.ours} (the field is immutable: create the Service anew), or set defaultClass: true in HeraldConfig/default if no other controller serves Services without a class`,
  }),
  StatusContested: reasonEntry({
    brief: 'Another program also writes the addresses of the Service',
    says: (d: Numbers<'times'>) =>
      `another program has overwritten the addresses of the Service ${d.times} times; Herald stopped writing, so that they do not change back and forth`,
    fix: () =>
      'stop the other controller (such as MetalLB), or leave the Service to it: see defaultClass and compat of HeraldConfig; Herald writes again after ten minutes without a foreign write, or when HeraldConfig changes',
  }),
  BeingDeleted: reasonEntry({
    brief: 'The Service is being deleted',
    says: () => 'the Service is being deleted: it keeps its addresses until it is gone and gets no new ones',
    fix: () => 'see metadata.finalizers for what delays the deletion',
  }),
  NoPools: reasonEntry({
    brief: 'There is no IPAddressPool',
    says: () => 'there is no valid IPAddressPool',
    fix: () => 'create an IPAddressPool',
  }),
  NoPoolFits: lastingReason({
    brief: 'Several IPAddressPools serve this Service, and each has another reason to give it no address',
    // The pool that came nearest to giving an address, its reason, and the fix of that reason.
    says: (d: OfPool & Texts<'because' | 'remedy'>) => `${d.because}, and no other pool fits`,
    fix: (d) => d.remedy,
  }),
  PoolNotFound: lastingReason({
    brief: 'The requested IPAddressPool does not exist',
    says: (d: OfPool & Partial<Texts<'meant'>>) => `the Service asks for pool "${d.pool}", which does not exist or is not valid`,
    fix: (d) =>
      d.meant === undefined
        ? `create IPAddressPool "${d.pool}", or change the annotation of the Service that names it`
        : `did you mean "${d.meant}"? Change the annotation of the Service that names "${d.pool}", or create that IPAddressPool`,
  }),
  PoolNotRequested: reasonEntry({
    brief: 'Another pool was requested',
    says: (d: OfPool & Texts<'requested'>) => `the Service asks for pool "${d.requested}"`,
    fix: () => '',
  }),
  PoolNotAutoAssigned: lastingReason({
    brief: 'The pool gives addresses only on request',
    says: (d: OfPool) => `pool "${d.pool}" has autoAssign: false`,
    fix: (d) => `annotate the Service with herald.dev/address-pool: ${d.pool}`,
  }),
  PoolNamespaceNotSelected: lastingReason({
    brief: 'The pool does not serve this namespace',
    says: (d: OfPool & Texts<'namespace'>) => `pool "${d.pool}" does not select namespace "${d.namespace}"`,
    fix: (d) => `add the namespace to serviceAllocation of IPAddressPool "${d.pool}"`,
  }),
  PoolServiceNotSelected: lastingReason({
    brief: 'The pool does not select this Service',
    says: (d: OfPool) => `no serviceSelector of pool "${d.pool}" matches the Service's labels`,
    fix: (d) => `label the Service, or change serviceSelectors of IPAddressPool "${d.pool}"`,
  }),
  PoolHasNoFamily: lastingReason({
    brief: 'The pool has no addresses of a needed family',
    says: (d: OfPool & Texts<'families'>) => `pool "${d.pool}" has no ${d.families} addresses`,
    fix: (d) => `add ${d.families} addresses to IPAddressPool "${d.pool}", or change spec.ipFamilyPolicy`,
  }),
  PoolFull: lastingReason({
    brief: 'The pool is full',
    // `shared`: why the Service cannot join an address of the pool that is held under its own sharing key. `holder`: a Service of the same
    // namespace whose release makes room. `kept`: for how many seconds the pool then keeps its address.
    says: (d: OfPool & Texts<'family' | 'total'> & { readonly shared?: string; readonly holder?: string; readonly kept?: number }) =>
      `pool ${d.pool} is full (${d.total} of ${d.total} ${d.family} addresses)${d.shared === undefined ? '' : `; ${d.shared}`}`,
    fix: (d) => {
      const wait = d.kept === undefined ? '' : `, whose address the pool keeps for another ${d.kept} s (keepReleasedSeconds)`;
      return `add addresses to IPAddressPool ${d.pool}, or ${d.holder === undefined ? 'delete a Service that holds one' : `release ${d.holder}${wait}`}`;
    },
  }),
  PoolDraining: lastingReason({
    brief: 'The pool is draining',
    says: (d: OfPool) => `pool "${d.pool}" is draining: assigned addresses stay, and it gives no new ones`,
    fix: (d) => `use another pool, or set draining: false on IPAddressPool "${d.pool}"`,
  }),
  QuotaReached: lastingReason({
    brief: 'The namespace has reached its quota of addresses of the pool',
    // `used` and `more` are for programs: `used` changes while the Service waits. `entry`: the index in spec.quota.
    says: (d: OfPool & Texts<'namespace'> & Numbers<'used' | 'allowed' | 'more' | 'entry'>) =>
      `the quota of pool ${d.pool} for namespace ${d.namespace} (${d.allowed} ${d.allowed === 1 ? 'address' : 'addresses'}) has no room for ${d.more} more`,
    fix: (d) =>
      `raise spec.quota[${d.entry}].addresses of IPAddressPool ${d.pool}, or delete a Service of namespace ${d.namespace} that holds one`,
  }),
  AddressReserved: lastingReason({
    brief: 'The requested address is kept for another Service',
    says: (d: OfPool & Texts<'address' | 'owner'>) =>
      `requested address ${d.address} is kept for Service ${d.owner} (reservations or keepReleasedSeconds of pool "${d.pool}")`,
    fix: (d) => `request another address, or change reservations of IPAddressPool "${d.pool}"`,
  }),
  TooManyAddresses: reasonEntry({
    brief: 'The Service would keep more addresses than allowed',
    says: (d: Numbers<'most'>) => `with herald.dev/keep-addresses the Service would hold more than ${d.most} addresses`,
    fix: () => 'remove the annotation herald.dev/keep-addresses: addresses that the Service no longer requests are then released',
  }),
  AddressNotInPools: lastingReason({
    brief: 'The requested address is in no pool',
    // `isUnusable`: no pool may have the address.
    says: (d: OutsidePools & { readonly isUnusable?: true }) =>
      `requested address ${d.address} is in no valid IPAddressPool${nearestText(d)}`,
    fix: (d) => {
      if (d.isUnusable === true) return d.pool === '' ? 'request no address' : `request an address of ${d.range}, or none`;
      if (d.pool === '') return `create an IPAddressPool that contains ${d.address}, or request no address`;
      return `request an address of ${d.range}, or add ${d.address} to spec.addresses of IPAddressPool ${d.pool}`;
    },
  }),
  HeldOutsidePools: lastingReason({
    brief: 'The address that the Service holds is in no pool',
    // `former`: the pool that contained the address. Absent: not known.
    says: (d: OutsidePools & { readonly former?: string }) =>
      d.former === undefined
        ? `the Service keeps ${d.address}, which is in no valid IPAddressPool${nearestText(d)}`
        : `the Service keeps ${d.address}, which is in no valid IPAddressPool any more; advertisements for pool "${d.former}", which contained it, still apply`,
    fix: (d) =>
      d.former === undefined
        ? `to have it announced, ${restoreText(d)}; or request another address`
        : `to keep the address, add ${d.address} to spec.addresses of IPAddressPool "${d.former}", or of another that is announced; to have another address, annotate the Service with herald.dev/address-pool: POOL`,
  }),
  AddressTaken: lastingReason({
    brief: 'Another Service has the address',
    // Why the two may not share it, and which of their fields to make equal.
    says: (d: Texts<'address' | 'by' | 'why' | 'remedy'>) => `${d.address} is held by Service ${d.by}, and they may not share it: ${d.why}`,
    fix: (d) => `request another address; or, to share it: ${d.remedy}`,
  }),
  AddressHeldTwice: lastingReason({
    brief: 'The address is also recorded for another Service',
    says: (d: Texts<'address' | 'by'> & { readonly port?: string }) =>
      `${d.address} is on record for ${d.by} as well, which keeps it${d.port === undefined ? '' : ` (both have port ${d.port})`}: this Service is neither announced nor forwarded at that address`,
    fix: (d) =>
      d.port === undefined
        ? 'nothing to do: the controller gives this Service another address or takes this one away; if it does not, check that a controller is leader'
        : `change port ${d.port} of this Service or of ${d.by}; the controller gives this Service another address or takes this one away`,
  }),
  RequestedFamilyMismatch: lastingReason({
    brief: 'The requested addresses do not match the families of the Service',
    says: (d: Texts<'requested' | 'families'>) => `requested ${d.requested}, but spec.ipFamilies is ${d.families}`,
    fix: () => 'request addresses of the families in spec.ipFamilies',
  }),
  InvalidRequest: lastingReason({
    brief: 'The request for an address is not valid',
    says: (d: Texts<'field' | 'problem'>) => `${d.field}: ${d.problem}`,
    fix: (d) => `correct ${d.field} of the Service`,
  }),
  AddressAvoided: lastingReason({
    brief: 'The pool does not give the requested address',
    says: (d: OfPool & Texts<'address'>) => `pool "${d.pool}" has avoidBuggyIPs, which leaves out ${d.address}`,
    fix: (d) => `request another address, or set avoidBuggyIPs: false on IPAddressPool "${d.pool}"`,
  }),
  AddressInUseBy: lastingReason({
    brief: 'The address belongs to something else',
    // `use`: how the Service came to it. "requested": the owner asks for it. "held": it is on record. "unpooled": on record, and in no pool.
    // "external": it is in spec.externalIPs. `pool`: the pool that contains it, or "".
    says: (d: Texts<'address' | 'kind' | 'object' | 'of' | 'use' | 'pool'>) =>
      `${d.address} is ${d.of}: ${d.use === 'requested' ? 'no Service gets it' : 'it is not announced for this Service'}`,
    fix: (d) => {
      const leaveOut = d.pool === '' ? '' : `, and leave ${d.address} out of IPAddressPool "${d.pool}"`;
      if (d.use === 'requested') return `request another address${leaveOut}`;
      if (d.use === 'external')
        return `remove ${d.address} from spec.externalIPs of the Service${d.kind === 'Node' ? `, unless it serves only what reaches node "${d.object}" at this address` : ''}`;
      const anew = 'annotate the Service with herald.dev/address-pool: POOL, which gives it another address';
      if (d.use === 'held') return `${anew}${leaveOut}`;
      return `end the program that wrote ${d.address} into status.loadBalancer of the Service (ServiceLB of k3s writes addresses of nodes: start k3s with --disable=servicelb), then ${anew}`;
    },
  }),
  AddressInOtherPool: lastingReason({
    brief: 'The address is not in the requested pool',
    says: (d: OfPool & Texts<'address' | 'requested'>) =>
      `address ${d.address} is in pool "${d.pool}", but the Service asks for pool "${d.requested}"`,
    fix: (d) =>
      `write ${d.pool} into the annotation herald.dev/address-pool to have this address; to have another, request an address of pool "${d.requested}", or remove the annotation and write it again`,
  }),
  RecordUnreadable: reasonEntry({
    brief: 'A record of assigned addresses cannot be read',
    says: (d: Texts<'file'>) =>
      `${d.file} cannot be read, so the addresses recorded in it are not known: no address is assigned until it is repaired`,
    fix: (d) => `repair ${d.file}; or delete it, and its Service gets a new address`,
  }),
};
