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
    code: 'NoPoolFits',
    condition,
    verdict: 'Not served: pool pool-full is full (1 of 1 IPv4 addresses).',
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
    verdict: '',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, annotated({ 'herald.dev/address-pool': 'pool-unknwon' }))],
  },
  {
    name: 'pool-on-request',
    mistake: 'The only pool has autoAssign: false, and the Service does not ask for it.',
    code: 'NoPoolFits',
    condition,
    verdict: '',
    before: (place) => [namespace(place), pool(place, { spec: { autoAssign: false } }), advertisement(place)],
    after: (place) => [namespace(place), pool(place, { spec: { autoAssign: false } }), advertisement(place), ...service(place)],
  },
  {
    name: 'pool-other-namespace',
    mistake: 'The pool that the Service asks for serves another namespace.',
    code: 'PoolNamespaceNotSelected',
    condition,
    verdict: '',
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
    code: 'NoPoolFits',
    condition,
    verdict: '',
    before: (place) => [namespace(place), labelled(place), advertisement(place)],
    after: (place) => [namespace(place), labelled(place), advertisement(place), ...service(place)],
  },
  {
    name: 'pool-one-family',
    mistake: 'The Service requires both families, and the pool has IPv4 only.',
    code: 'NoPoolFits',
    condition,
    verdict: '',
    before: (place) => [namespace(place), ipv4Pool(place), advertisement(place)],
    after: (place) => [namespace(place), ipv4Pool(place), advertisement(place), ...service(place)],
  },
  {
    name: 'pool-draining',
    mistake: 'The only pool drains.',
    code: 'NoPoolFits',
    condition,
    verdict: '',
    before: (place) => [namespace(place), pool(place, { spec: { draining: true } }), advertisement(place)],
    after: (place) => [namespace(place), pool(place, { spec: { draining: true } }), advertisement(place), ...service(place)],
  },
  {
    name: 'quota-reached',
    mistake: 'The quota of the pool allows the namespace two addresses, and another Service holds them.',
    code: 'NoPoolFits',
    condition,
    verdict: '',
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
    verdict: '',
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
    verdict: '',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { ...requesting(`198.18.${place.index}.77`), spec: ipv4Only(place) })],
  },
  {
    name: 'address-taken',
    mistake: 'The Service requests an address that another holds, and neither shares it.',
    code: 'AddressTaken',
    condition,
    verdict: '',
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
    verdict: '',
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
    verdict: '',
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
    verdict: '',
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
    verdict: '',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { ...requesting(poolAddresses(place, 5)[1]), spec: ipv4Only(place) })],
  },
  {
    name: 'request-no-address',
    mistake: 'The annotation that requests an address contains a typing error.',
    code: 'InvalidRequest',
    condition,
    verdict: '',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { ...requesting('198.18.300.1'), spec: ipv4Only(place) })],
  },
  {
    name: 'address-avoided',
    mistake: 'The Service requests an address that ends in .255 from a pool with avoidBuggyIPs.',
    code: 'AddressAvoided',
    condition,
    verdict: '',
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
    code: 'PoolRefused',
    condition,
    verdict: '',
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
    verdict: '',
    after: (place) => healthy(place).filter(({ kind }) => kind !== 'IPAddressPool'),
  },
  {
    name: 'class-not-set',
    mistake: 'The Service has no class, and defaultClass of HeraldConfig is false.',
    code: 'ClassNotSet',
    verdict: '',
    before: withoutService,
    after: (place) => [...withoutService(place), ...service(place, { spec: { loadBalancerClass: undefined } })],
  },
  {
    name: 'other-class',
    mistake: 'The Service has the class of another load balancer controller.',
    code: 'OtherLoadBalancerClass',
    verdict: '',
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
