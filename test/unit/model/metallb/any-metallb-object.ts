import fc from 'fast-check';
import { metallb } from './metallb-manifests.ts';

/** Objects that MetalLB's own validation accepts (its schemas and config.For), one at a time. References may point to missing objects. */
export function anyMetalLBObject(): fc.Arbitrary<ReturnType<typeof metallb>> {
  return fc.oneof(pool(), peer(), firstPeer(), advertisement(), community(), bfdProfile(), fc.constant(metallb('L2Advertisement', {})));
}

const optional = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { requiredKeys: [] });
const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/);
const ipv4 = fc.ipV4().filter((text) => /^(?!0|10\.|127|169\.254|2[2-5]\d)/.test(text));
const ipv6 = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 6, maxLength: 6 })
  .map((groups) => `2001:db8:${groups.map((group) => group.toString(16)).join(':')}`);
const label = fc.record({ key: name, value: name });
const expression = fc.oneof(
  fc.record({ key: name, operator: fc.constantFrom('In', 'NotIn'), values: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }) }),
  fc.record({ key: name, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
);
const selector = optional({
  matchLabels: fc.array(label, { maxLength: 2 }).map((pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, value]))),
  matchExpressions: fc.uniqueArray(expression, { maxLength: 2, selector: (one) => JSON.stringify(one) }),
});
/** Keeps one of every two selectors with the same meaning, because such selectors count as duplicates. */
const selectors = fc.uniqueArray(selector, { maxLength: 3, selector: meaning });

function meaning(one: { readonly matchLabels?: object; readonly matchExpressions?: readonly object[] }): string {
  const expressions = (one.matchExpressions ?? []).map((expression) => JSON.stringify({ values: [], ...expression }));
  return JSON.stringify([Object.entries(one.matchLabels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)), expressions.sort()]);
}

const seconds = (min: number, max: number) => fc.integer({ min, max });
const uint32 = fc.integer({ min: 1, max: 0xffff_ffff });
const standardCommunity = fc.tuple(fc.integer({ min: 0, max: 65_535 }), fc.integer({ min: 0, max: 65_535 })).map(([a, b]) => `${a}:${b}`);
const largeCommunity = fc.tuple(uint32, uint32, uint32).map((parts) => `large:${parts.join(':')}`);

function pool() {
  const range = fc.oneof(
    fc.tuple(ipv4, fc.integer({ min: 16, max: 32 })).map(([address, length]) => `${address}/${length}`),
    fc.tuple(ipv6, fc.integer({ min: 48, max: 128 })).map(([address, length]) => `${address}/${length}`),
    fc.tuple(ipv4, fc.integer({ min: 0, max: 255 })).map(([address, last]) => range4(address, last)),
  );
  return fc.record({ addresses: fc.array(range, { minLength: 1, maxLength: 1 }) }).chain((required) =>
    optional({
      autoAssign: fc.boolean(),
      avoidBuggyIPs: fc.boolean(),
      serviceAllocation: optional({
        priority: fc.integer({ min: -5, max: 100 }),
        namespaces: fc.uniqueArray(name, { maxLength: 3 }),
        namespaceSelectors: selectors,
        serviceSelectors: selectors,
      }),
    }).map((spec) => metallb('IPAddressPool', { ...required, ...spec })),
  );
}

function range4(address: string, last: number): string {
  const [a, b, c, d = '0'] = address.split('.');
  const ends = [Number(d), last].sort((one, other) => one - other);
  return ends.map((end) => [a, b, c, end].join('.')).join(' - ');
}

const whom = fc.oneof(
  fc.record({ peerAddress: ipv4, peerASN: uint32 }),
  fc.record({ peerAddress: ipv6, dynamicASN: fc.constantFrom('internal', 'external') }),
  fc.record({ interface: fc.constantFrom('eth0', 'bond0.7'), dynamicASN: fc.constantFrom('internal', 'external') }),
);

function timers() {
  return fc.oneof(
    fc.constant({}),
    seconds(3, 65_535).map((hold) => ({ holdTime: `${hold}s` })),
    seconds(1, 21_845).map((keepalive) => ({ keepaliveTime: `${keepalive}s` })),
    seconds(3, 600).map((hold) => ({ holdTime: `${hold}s`, keepaliveTime: `${Math.floor(hold / 3)}s` })),
    fc.constant({ holdTime: '0s', keepaliveTime: '0s' }),
  );
}

function peer() {
  const further = optional({
    peerPort: fc.integer({ min: 1, max: 16_384 }),
    connectTime: seconds(1, 65_535).map((value) => `${value}s`),
    routerID: ipv4,
    nodeSelectors: selectors,
    passwordSecret: fc.oneof(fc.constant({}), fc.record({ name }), fc.record({ name, namespace: name })),
    bfdProfile: name,
    enableGracefulRestart: fc.boolean(),
    ebgpMultiHop: fc.boolean(),
    vrf: name,
    disableMP: fc.boolean(),
    dualStackAddressFamily: fc.boolean(),
  });
  return fc
    .tuple(uint32, whom, timers(), further)
    .map(([myASN, ...specs]) => metallb('BGPPeer', Object.assign({ myASN }, ...specs) as object));
}

function firstPeer() {
  const further = optional({ peerPort: fc.integer({ min: 0, max: 16_384 }), nodeSelectors: selectors, password: name, bfdProfile: name });
  const asn = fc.integer({ min: 1, max: 65_535 });
  return fc
    .tuple(fc.record({ myASN: asn, peerASN: asn, peerAddress: ipv4 }), timers(), further)
    .map((specs) => metallb('BGPPeer', Object.assign({}, ...specs) as object, 'main', { version: 'v1beta1' }));
}

function advertisement() {
  const aggregates = optional({
    aggregationLength: fc.integer({ min: 1, max: 32 }),
    aggregationLengthV6: fc.integer({ min: 0, max: 128 }),
  });
  const further = optional({
    localPref: fc.integer({ min: 0, max: 0xffff_ffff }),
    communities: fc.uniqueArray(fc.oneof(standardCommunity, largeCommunity, name), { maxLength: 5 }),
    ipAddressPools: fc.uniqueArray(name, { maxLength: 3 }),
    ipAddressPoolSelectors: selectors,
    nodeSelectors: selectors,
    peers: fc.uniqueArray(name, { maxLength: 3 }),
  });
  const what = fc.oneof(aggregates, optional({ serviceSelectors: selectors }));
  return fc.tuple(what, further).map((specs) => metallb('BGPAdvertisement', Object.assign({}, ...specs) as object));
}

function community() {
  const alias = fc.record({
    name: fc.oneof(name, fc.string({ minLength: 1, maxLength: 8 })),
    value: fc.oneof(standardCommunity, largeCommunity),
  });
  const communities = fc.uniqueArray(alias, { maxLength: 4, selector: (one) => one.name });
  return communities.map((list) => metallb('Community', { communities: list }));
}

function bfdProfile() {
  const interval = fc.integer({ min: 10, max: 60_000 });
  return optional({
    receiveInterval: interval,
    transmitInterval: interval,
    detectMultiplier: fc.integer({ min: 2, max: 255 }),
    echoInterval: interval,
    echoMode: fc.boolean(),
    passiveMode: fc.boolean(),
    minimumTtl: fc.integer({ min: 1, max: 254 }),
  }).map((spec) => metallb('BFDProfile', spec));
}
