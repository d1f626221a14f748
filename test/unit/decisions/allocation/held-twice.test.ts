import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { inOrderOfPrecedence, whyHeldTwice } from '../../../../src/decisions/allocation/held-twice.ts';
import { decideAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { serviceKey, type ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { assignedMessage, termsInMessage } from '../../../../src/model/objects/sharing-terms.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { advertisement, config, node, peer, pool, service, slice, type ServiceLiteral } from '../fixtures.ts';

const shared = address('192.0.2.1');

interface Literal extends ServiceLiteral {
  /** The day of January 2026 of the creation time. Absent: the Service has no creation time. */
  readonly created?: number;
  readonly taken?: true;
  /** The ports for which the controller decided: the record has them and the sharing key. Absent: the record has no terms. */
  readonly decided?: readonly string[];
}

function serviceOf({ created, taken, decided, ...literal }: Literal): Service {
  const one = service({ assigned: ['192.0.2.1'], ...literal });
  const recordedTerms =
    decided === undefined ? undefined : termsInMessage(assignedMessage(service({ name: 'x', sharingKey: 'k', ports: decided })));
  const creationTimestamp = created === undefined ? '' : `2026-01-0${created}T00:00:00Z`;
  return { ...one, metadata: { ...one.metadata, creationTimestamp }, ...defined({ addressTaken: taken, recordedTerms }) };
}

function snapshotOf(...literals: readonly Literal[]): Snapshot {
  const store = new Store();
  for (const object of [...literals.map(serviceOf), config({}), pool({ name: 'main', addresses: ['192.0.2.0/24'] })]) store.upsert(object);
  return store;
}

/** Returns the Services that hold the address rightfully. */
function winners(snapshot: Snapshot): ServiceKey[] {
  const own = [...snapshot.services.values()].filter((one) => whyHeldTwice(snapshot, one, shared) === undefined);
  return own.map(({ metadata }) => serviceKey(metadata)).sort();
}

describe('Services with one recorded address', () => {
  test.each<[string, readonly Literal[], readonly ServiceKey[]]>([
    [
      'the older Service keeps it',
      [
        { name: 'a', created: 2 },
        { name: 'b', created: 1 },
      ],
      ['default/b'],
    ],
    [
      'the first by name keeps it at equal age',
      [
        { name: 'b', created: 1 },
        { name: 'a', created: 1 },
      ],
      ['default/a'],
    ],
    ['a Service without a creation time comes last', [{ name: 'a' }, { name: 'b', created: 9 }], ['default/b']],
    [
      'a Service with reason AddressTaken on record comes last, however old it is',
      [
        { name: 'a', created: 1, taken: true },
        { name: 'b', created: 2 },
      ],
      ['default/b'],
    ],
    [
      'Services that share with the first keep it too, and no others',
      [
        { name: 'a', created: 1, sharingKey: 'k' },
        { name: 'b', created: 2 },
        { name: 'c', created: 3, sharingKey: 'k', ports: ['443'] },
        { name: 'd', created: 4, sharingKey: 'l' },
      ],
      ['default/a', 'default/c'],
    ],
    [
      'of two sharers with one port the one that was decided with that port keeps it, even when it is younger and later by name',
      [
        { name: 'a', created: 1, sharingKey: 'k', decided: ['443'] },
        { name: 'b', created: 2, sharingKey: 'k', decided: ['80'] },
      ],
      ['default/b'],
    ],
    [
      'a Service that left the common key yields to the one that has it, even when it is older',
      [
        { name: 'a', created: 1, decided: ['80'] },
        { name: 'b', created: 2, sharingKey: 'k', ports: ['443'], decided: ['443'] },
      ],
      ['default/b'],
    ],
    [
      'of two sharers with one port the older one keeps it when the record does not tell which one changed',
      [
        { name: 'b', created: 1, sharingKey: 'k' },
        { name: 'a', created: 2, sharingKey: 'k' },
      ],
      ['default/b'],
    ],
    [
      'a third sharer keeps it beside the one of the two that has the port',
      [
        { name: 'a', created: 1, sharingKey: 'k', decided: ['444'] },
        { name: 'b', created: 2, sharingKey: 'k', decided: ['80'] },
        { name: 'c', created: 3, sharingKey: 'k', ports: ['443'], decided: ['443'] },
      ],
      ['default/b', 'default/c'],
    ],
    [
      'a changed Service that can still be served beside the others keeps it',
      [
        { name: 'a', created: 1, sharingKey: 'k', ports: ['80', '8080'], decided: ['80'] },
        { name: 'b', created: 2, sharingKey: 'k', ports: ['80/UDP'], decided: ['80/UDP'] },
      ],
      ['default/a', 'default/b'],
    ],
    [
      "a Service of another class does not count, because its addresses are not Herald's",
      [
        { name: 'a', created: 1, loadBalancerClass: 'example.net/lb' },
        { name: 'b', created: 2 },
      ],
      ['default/a', 'default/b'],
    ],
  ])('%s', (_, literals, expected) => {
    expect(winners(snapshotOf(...literals))).toEqual(expected);
    expect(winners(snapshotOf(...literals.toReversed()))).toEqual(expected);
  });
});

test('a starting controller considers rightful holders first, then by age', () => {
  const snapshot = snapshotOf({ name: 'a', created: 2 }, { name: 'b', created: 1, taken: true }, { name: 'c', created: 1 }, { name: 'd' });
  expect(inOrderOfPrecedence(snapshot).map(({ metadata }) => metadata.name)).toEqual(['c', 'a', 'd', 'b']);
});

test('an address held twice is forwarded and announced for its rightful holder only', () => {
  const store = snapshotOf(
    { name: 'a', created: 1 },
    { name: 'b', created: 2, assigned: ['192.0.2.1', '192.0.2.2'], clusterIPs: ['10.96.0.2'] },
  ) as Store;
  for (const name of ['a', 'b']) store.upsert(slice({ service: name, endpoints: ['10.1.0.1@n1'] }));
  store.upsert(node({ name: 'n1' }));
  store.upsert(peer({ name: 'tor' }));
  store.upsert(advertisement({ name: 'all' }));
  const outcomeOf = (name: ServiceKey): { forwarded: string[]; announced: string[]; reasons: string[] } => {
    const one = store.services.get(name) as Service;
    const { forwarding, reasons } = decideForwarding(store, one, 'n1');
    const { addresses } = decideAnnouncement(store, one, 'n1');
    return {
      forwarded:
        forwarding?.frontends.flatMap(({ match, scope }) =>
          match.kind === 'address' && scope === 'external' ? [formatAddress(match.address)] : [],
        ) ?? [],
      announced: addresses.flatMap(({ address, result }) => (result.announce ? [formatAddress(address)] : [])),
      reasons: [
        ...reasons,
        ...addresses.flatMap(({ result, type }) => (result.announce || type !== 'LoadBalancer' ? [] : [result.reason])),
      ].map(({ code }) => code),
    };
  };
  expect(outcomeOf('default/a')).toEqual({ forwarded: ['192.0.2.1'], announced: ['192.0.2.1'], reasons: [] });
  expect(outcomeOf('default/b')).toEqual({
    forwarded: ['192.0.2.2'],
    announced: ['192.0.2.2'],
    reasons: ['AddressHeldTwice', 'AddressHeldTwice'],
  });
});

test.each([
  ['IPv4', '192.0.2.1', '10.96.0.2', '10.1.0.1@n1', '192.0.2.0/24'],
  ['IPv6', '2001:db8::1', 'fd96::2', 'fd10::1@n1', '2001:db8::/64'],
])('an %s port stays with the sharer that was decided with it until the other loses the address', (_, at, ip, pod, range) => {
  const store = new Store();
  const literal = { assigned: [at], clusterIPs: [ip], sharingKey: 'k' };
  for (const object of [
    serviceOf({ ...literal, name: 'a', created: 1, ports: ['80'], decided: ['443'] }),
    serviceOf({ ...literal, name: 'b', created: 2, ports: ['80'], decided: ['80'] }),
    ...['a', 'b'].map((name) => slice({ service: name, endpoints: [pod] })),
    config({}),
    node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'] }),
    pool({ name: 'main', addresses: [range] }),
    peer({ name: 'tor', dualStackAddressFamily: true }),
    advertisement({ name: 'all' }),
  ])
    store.upsert(object);
  const frontendsOf = (key: ServiceKey): number =>
    decideForwarding(store, store.services.get(key) as Service, 'n1').forwarding?.frontends.filter(({ scope }) => scope === 'external')
      .length ?? 0;
  expect([frontendsOf('default/a'), frontendsOf('default/b')]).toEqual([0, 1]);
  const announced = (key: ServiceKey): readonly boolean[] =>
    decideAnnouncement(store, store.services.get(key) as Service, 'n1').addresses.flatMap(({ result, type }) =>
      type === 'LoadBalancer' ? [result.announce] : [],
    );
  expect([announced('default/a'), announced('default/b')]).toEqual([[false], [true]]);
  expect(whyHeldTwice(store, store.services.get('default/a') as Service, address(at))?.details).toEqual({
    address: at,
    by: 'default/b',
    port: '80/TCP',
  });
});

describe('Services affected by a change of another Service with the same address', () => {
  const affected = (store: Store, change: Service): readonly ServiceKey[] => (store.upsert(change)[0]?.services ?? []).toSorted();

  test('the other holder is affected when a Service takes, changes or leaves its address', () => {
    const store = snapshotOf({ name: 'a', created: 1 }) as Store;
    expect(affected(store, serviceOf({ name: 'b', created: 2 }))).toEqual(['default/a']);
    expect(affected(store, serviceOf({ name: 'b', created: 2, labels: { x: 'y' } }))).toEqual([]);
    expect(affected(store, serviceOf({ name: 'b', created: 2, sharingKey: 'k' }))).toEqual(['default/a']);
    expect(affected(store, serviceOf({ name: 'b', created: 2, sharingKey: 'k', assigned: ['192.0.2.2'] }))).toEqual(['default/a']);
    expect(affected(store, serviceOf({ name: 'a', created: 1, assigned: ['192.0.2.2'] }))).toEqual(['default/b']);
    expect(store.remove('Service', 'default/a')).toEqual([{ kind: 'Service', key: 'default/a', services: ['default/b'] }]);
    expect(store.holdersOf(address('192.0.2.2'))).toEqual(['default/b']);
    expect(store.holdersOf(shared)).toEqual([]);
  });

  test('Services that share an address do not affect each other until another Service takes it', () => {
    const store = snapshotOf({ name: 'a', sharingKey: 'k' }, { name: 'b', sharingKey: 'k', ports: ['443'] }) as Store;
    expect(affected(store, serviceOf({ name: 'c', sharingKey: 'k', ports: ['444'] }))).toEqual([]);
    expect(affected(store, serviceOf({ name: 'c', sharingKey: 'k', ports: ['443'] }))).toEqual(['default/a', 'default/b']);
    expect(affected(store, serviceOf({ name: 'c', sharingKey: 'k', ports: ['444'] }))).toEqual(['default/a', 'default/b']);
    expect(affected(store, serviceOf({ name: 'c', sharingKey: 'k', ports: ['445'] }))).toEqual([]);
    expect(affected(store, serviceOf({ name: 'd' }))).toEqual(['default/a', 'default/b', 'default/c']);
    expect(affected(store, serviceOf({ name: 'a', sharingKey: 'k', assigned: [] }))).toEqual(['default/b', 'default/c', 'default/d']);
  });
});
