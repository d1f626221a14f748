import type { Misconfiguration } from '../misconfiguration.ts';
import { advertisement, annotated, healthy, herald, ipv4Only, namespace, pool, service, type Manifest } from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';

/** Everything but the Service, which is created with the mistake. */
const withoutService = (place: Place): Manifest[] => [namespace(place), pool(place), advertisement(place)];

const condition = 'AddressAssigned';

/** Mistakes that leave a Service without an address. */
export const allocationCases: readonly Misconfiguration[] = [
  {
    name: 'pool-full',
    mistake: 'The pool has one address, and another Service holds it.',
    code: 'PoolFull',
    condition,
    verdict:
      'Not served: pool pool-full is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool pool-full, or release pool-full/first.',
    before: (place) => [
      namespace(place),
      onlyOne(place),
      advertisement(place),
      ...service(place, { spec: ipv4Only(place, 1) }, { name: 'first', ordinal: 1 }),
    ],
    after: (place) => [
      namespace(place),
      onlyOne(place),
      advertisement(place),
      ...service(place, { spec: ipv4Only(place, 1) }, { name: 'first', ordinal: 1 }),
      ...service(place, { spec: ipv4Only(place) }),
    ],
  },
  {
    name: 'pool-unknown',
    mistake: 'The Service asks for a pool that does not exist.',
    code: 'PoolNotFound',
    condition,
    verdict:
      'Not served: the Service asks for pool "pool-unknwon", which does not exist or is not valid. Did you mean "pool-unknown"? Change the annotation of the Service that names "pool-unknwon", or create that IPAddressPool.',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, annotated({ 'herald.dev/address-pool': 'pool-unknwon' }))],
  },
  {
    name: 'pool-on-request',
    mistake: 'The only pool has autoAssign: false, and the Service does not ask for it.',
    code: 'PoolNotAutoAssigned',
    condition,
    verdict:
      'Not served: pool "pool-on-request" has autoAssign: false. Annotate the Service with herald.dev/address-pool: pool-on-request.',
    before: (place) => [namespace(place), pool(place, { spec: { autoAssign: false } }), advertisement(place)],
    after: (place) => [namespace(place), pool(place, { spec: { autoAssign: false } }), advertisement(place), ...service(place)],
  },
  {
    name: 'pool-other-namespace',
    mistake: 'The pool that the Service asks for serves another namespace.',
    code: 'PoolNamespaceNotSelected',
    condition,
    verdict:
      'Not served: pool "pool-other-namespace" does not select namespace "pool-other-namespace". Add the namespace to serviceAllocation of IPAddressPool "pool-other-namespace".',
    before: (place) => [namespace(place), elsewhere(place), advertisement(place)],
    after: (place) => [
      namespace(place),
      elsewhere(place),
      advertisement(place),
      ...service(place, annotated({ 'herald.dev/address-pool': place.name })),
    ],
  },
  {
    name: 'pool-other-labels',
    mistake: 'The pool selects Services by a label that the Service lacks.',
    code: 'PoolServiceNotSelected',
    condition,
    verdict:
      'Not served: no serviceSelector of pool "pool-other-labels" matches the Service\'s labels. Label the Service, or change serviceSelectors of IPAddressPool "pool-other-labels".',
    before: (place) => [namespace(place), labelled(place), advertisement(place)],
    after: (place) => [namespace(place), labelled(place), advertisement(place), ...service(place)],
  },
  {
    name: 'pool-one-family',
    mistake: 'The Service requires both families, and the pool has IPv4 only.',
    code: 'PoolHasNoFamily',
    condition,
    verdict:
      'Not served: pool "pool-one-family" has no IPv6 addresses. Add IPv6 addresses to IPAddressPool "pool-one-family", or change spec.ipFamilyPolicy.',
    before: (place) => [namespace(place), ipv4Pool(place), advertisement(place)],
    after: (place) => [namespace(place), ipv4Pool(place), advertisement(place), ...service(place)],
  },
  {
    name: 'pool-draining',
    mistake: 'The only pool drains.',
    code: 'PoolDraining',
    condition,
    verdict:
      'Not served: pool "pool-draining" is draining: assigned addresses stay, and it gives no new ones. Use another pool, or set draining: false on IPAddressPool "pool-draining".',
    before: (place) => [namespace(place), pool(place, { spec: { draining: true } }), advertisement(place)],
    after: (place) => [namespace(place), pool(place, { spec: { draining: true } }), advertisement(place), ...service(place)],
  },
  {
    name: 'quota-reached',
    mistake: 'The quota of the pool allows the namespace two addresses, and another Service holds them.',
    code: 'QuotaReached',
    condition,
    verdict:
      'Not served: the quota of pool quota-reached for namespace quota-reached (2 addresses) has no room for 2 more. Raise spec.quota[0].addresses of IPAddressPool quota-reached, or delete a Service of namespace quota-reached that holds one.',
    before: (place) => [namespace(place), withQuota(place), advertisement(place), ...service(place, {}, { name: 'first', ordinal: 1 })],
    after: (place) => [
      namespace(place),
      withQuota(place),
      advertisement(place),
      ...service(place, {}, { name: 'first', ordinal: 1 }),
      ...service(place),
    ],
  },
  {
    name: 'address-reserved',
    mistake: 'The Service requests an address that the pool reserves for another.',
    code: 'AddressReserved',
    condition,
    verdict:
      'Not served: requested address 198.18.20.5 is kept for Service address-reserved/later (reservations or keepReleasedSeconds of pool "address-reserved"). Request another address, or change reservations of IPAddressPool "address-reserved".',
    before: (place) => [namespace(place), withReservation(place), advertisement(place)],
    after: (place) => [
      namespace(place),
      withReservation(place),
      advertisement(place),
      ...service(place, { ...requesting(poolAddresses(place, 5)[0]), spec: ipv4Only(place) }),
    ],
  },
  {
    name: 'address-in-no-pool',
    mistake: 'The Service requests an address beside the pool.',
    code: 'AddressNotInPools',
    condition,
    verdict:
      'Not served: requested address 198.18.21.77 is in no valid IPAddressPool; the nearest is address-in-no-pool (198.18.21.1-198.18.21.9). Request an address of 198.18.21.1-198.18.21.9, or add 198.18.21.77 to spec.addresses of IPAddressPool address-in-no-pool.',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { ...requesting(`198.18.${place.index}.77`), spec: ipv4Only(place) })],
  },
  {
    name: 'address-taken',
    mistake: 'The Service requests an address that another holds, and neither shares it.',
    code: 'AddressTaken',
    condition,
    verdict:
      'Not served: 198.18.22.5 is held by Service address-taken/first, and they may not share it: neither Service has a sharing key (herald.dev/allow-shared-ip). Request another address; or, to share it: annotate both Services with the same herald.dev/allow-shared-ip.',
    before: (place) => [...withoutService(place), ...holder(place)],
    after: (place) => [
      ...withoutService(place),
      ...holder(place),
      ...service(place, { ...requesting(poolAddresses(place, 5)[0]), spec: ipv4Only(place) }),
    ],
  },
  {
    name: 'sharing-keys-differ',
    mistake: 'Two Services request one address with different sharing keys.',
    code: 'AddressTaken',
    condition,
    verdict:
      'Not served: 198.18.23.5 is held by Service sharing-keys-differ/first, and they may not share it: sharing-keys-differ/first has sharing key "blue", and sharing-keys-differ/web has sharing key "green". Request another address; or, to share it: set herald.dev/allow-shared-ip of sharing-keys-differ/web to "blue".',
    before: (place) => [...withoutService(place), ...holder(place, { 'herald.dev/allow-shared-ip': 'blue' })],
    after: (place) => [
      ...withoutService(place),
      ...holder(place, { 'herald.dev/allow-shared-ip': 'blue' }),
      ...service(place, { ...sharing(place, 'green'), spec: { ...ipv4Only(place), ports: [{ port: 81, targetPort: 8080 }] } }),
    ],
  },
  {
    name: 'sharing-policies-differ',
    mistake: 'Two Services share an address by key, and their externalTrafficPolicy differs.',
    code: 'AddressTaken',
    condition,
    verdict:
      'Not served: 198.18.24.5 is held by Service sharing-policies-differ/first, and they may not share it: sharing-policies-differ/first has externalTrafficPolicy Cluster, and sharing-policies-differ/web has Local. Request another address; or, to share it: set spec.externalTrafficPolicy: Cluster on sharing-policies-differ/web.',
    before: (place) => [...withoutService(place), ...holder(place, { 'herald.dev/allow-shared-ip': 'blue' })],
    after: (place) => [
      ...withoutService(place),
      ...holder(place, { 'herald.dev/allow-shared-ip': 'blue' }),
      ...service(place, {
        ...sharing(place, 'blue'),
        spec: { ...ipv4Only(place), externalTrafficPolicy: 'Local', ports: [{ port: 81, targetPort: 8080 }] },
      }),
    ],
  },
  {
    name: 'sharing-one-port',
    mistake: 'Two Services share an address by key, and both use TCP port 80.',
    code: 'AddressTaken',
    condition,
    verdict:
      'Not served: 198.18.25.5 is held by Service sharing-one-port/first, and they may not share it: both have port 80/TCP. Request another address; or, to share it: change port 80/TCP of sharing-one-port/web.',
    before: (place) => [...withoutService(place), ...holder(place, { 'herald.dev/allow-shared-ip': 'blue' })],
    after: (place) => [
      ...withoutService(place),
      ...holder(place, { 'herald.dev/allow-shared-ip': 'blue' }),
      ...service(place, { ...sharing(place, 'blue'), spec: ipv4Only(place) }),
    ],
  },
  {
    name: 'request-other-family',
    mistake: 'The Service of IPv4 requests an IPv6 address.',
    code: 'RequestedFamilyMismatch',
    condition,
    verdict: 'Not served: requested IPv6, but spec.ipFamilies is IPv4. Request addresses of the families in spec.ipFamilies.',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { ...requesting(poolAddresses(place, 5)[1]), spec: ipv4Only(place) })],
  },
  {
    name: 'request-no-address',
    mistake: 'The annotation that requests an address contains a typing error.',
    code: 'InvalidRequest',
    condition,
    verdict:
      'Not served: herald.dev/load-balancer-ips: "198.18.300.1": octet 300 is above 255. Correct herald.dev/load-balancer-ips of the Service.',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { ...requesting('198.18.300.1'), spec: ipv4Only(place) })],
  },
  {
    name: 'address-avoided',
    mistake: 'The Service requests an address that ends in .255 from a pool with avoidBuggyIPs.',
    code: 'AddressAvoided',
    condition,
    verdict:
      'Not served: pool "address-avoided" has avoidBuggyIPs, which leaves out 198.18.28.255. Request another address, or set avoidBuggyIPs: false on IPAddressPool "address-avoided".',
    before: (place) => [namespace(place), wholeBlock(place), advertisement(place)],
    after: (place) => [
      namespace(place),
      wholeBlock(place),
      advertisement(place),
      ...service(place, { ...requesting(`198.18.${place.index}.255`), spec: ipv4Only(place) }),
    ],
  },
  {
    name: 'pool-overlaps',
    mistake: 'A later pool overlaps an earlier one, and the Service asks for the later.',
    code: 'PoolOverlaps',
    condition,
    verdict:
      'Not served: pool "pool-overlaps-too" gives no addresses: 198.18.29.1-198.18.29.9 overlaps 198.18.29.1-198.18.29.9 of IPAddressPool "pool-overlaps", which came first. Make the addresses of IPAddressPool "pool-overlaps-too" disjoint from those of the others.',
    before: withoutService,
    after: (place) => [
      ...withoutService(place),
      herald('IPAddressPool', `${place.name}-too`, { addresses: place.ranges, serviceAllocation: { namespaces: [place.name] } }),
      ...service(place, annotated({ 'herald.dev/address-pool': `${place.name}-too` })),
    ],
  },
  {
    name: 'pool-removed',
    mistake: 'The pool of an assigned address is deleted.',
    code: 'HeldOutsidePools',
    condition,
    verdict:
      'Announced, but not as it asks: the Service keeps 198.18.30.1, which is in no valid IPAddressPool any more; advertisements for pool "pool-removed", which contained it, still apply. To keep the address, add 198.18.30.1 to spec.addresses of IPAddressPool "pool-removed", or of another that is announced; to have another address, annotate the Service with herald.dev/address-pool: POOL.',
    after: (place) => healthy(place).filter(({ kind }) => kind !== 'IPAddressPool'),
  },
  {
    name: 'class-not-set',
    mistake: 'The Service has no class, and defaultClass of HeraldConfig is false.',
    code: 'ClassNotSet',
    verdict:
      'Not served by Herald: spec.loadBalancerClass is not set, and HeraldConfig/default does not set defaultClass: true, so Herald ("herald.dev/herald") leaves the Service to another controller. Set spec.loadBalancerClass: herald.dev/herald (the field is immutable: create the Service anew), or set defaultClass: true in HeraldConfig/default if no other controller serves Services without a class.',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { spec: { loadBalancerClass: undefined } })],
  },
  {
    name: 'other-class',
    mistake: 'The Service has the class of another load balancer controller.',
    code: 'OtherLoadBalancerClass',
    isIntended: true,
    verdict:
      'Not served by Herald: spec.loadBalancerClass is "example.com/other"; Herald\'s is "herald.dev/herald". Set spec.loadBalancerClass: herald.dev/herald (the field is immutable: create the Service anew).',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { spec: { loadBalancerClass: 'example.com/other' } })],
  },
];

const onlyOne = (place: Place): Manifest => pool(place, { spec: { addresses: [`${poolAddresses(place, 1)[0]}/32`] } });

const elsewhere = (place: Place): Manifest => pool(place, { spec: { serviceAllocation: { namespaces: ['kube-public'] } } });

const labelled = (place: Place): Manifest =>
  pool(place, { spec: { serviceAllocation: { serviceSelectors: [{ matchLabels: { tier: 'front' } }] } } });

const ipv4Pool = (place: Place): Manifest => pool(place, { spec: { addresses: [place.ranges[0]] } });

const withQuota = (place: Place): Manifest =>
  pool(place, {
    spec: { quota: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': place.name } }, addresses: 2 }] },
  });

const withReservation = (place: Place): Manifest =>
  pool(place, { spec: { reservations: [{ namespace: place.name, name: 'later', address: poolAddresses(place, 5)[0] }] } });

const wholeBlock = (place: Place): Manifest => pool(place, { spec: { addresses: [`198.18.${place.index}.0/24`], avoidBuggyIPs: true } });

const requesting = (address: string): { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } } => ({
  metadata: { annotations: { 'herald.dev/load-balancer-ips': address } },
});

const sharing = (place: Place, key: string): ReturnType<typeof requesting> => ({
  metadata: { annotations: { 'herald.dev/load-balancer-ips': poolAddresses(place, 5)[0], 'herald.dev/allow-shared-ip': key } },
});

/** Service "first", which holds the fifth address of the pool. */
const holder = (place: Place, annotations: Readonly<Record<string, string>> = {}): Manifest[] =>
  service(
    place,
    {
      metadata: { annotations: { 'herald.dev/load-balancer-ips': poolAddresses(place, 5)[0], ...annotations } },
      spec: ipv4Only(place, 1),
    },
    { name: 'first', ordinal: 1 },
  );
