import assert from 'node:assert';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatAddress, type Address } from '../../../../src/net/address.ts';
import { createAllocator, type Allocator } from '../../../../src/decisions/allocation/allocator.ts';
import { differs } from '../../../../src/decisions/allocation/recheck-held.ts';
import type { AllocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { canServeTogether } from '../../../../src/model/objects/sharing-terms.ts';
import { whyNotShared } from '../../../../src/decisions/allocation/ledger/sharing.ts';
import type { IPAddressPool } from '../../../../src/model/kinds/types.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { matching, pool } from '../fixtures.ts';
import { address } from '../../../../src/net/address.ts';
import { runs } from '../../../support/property.ts';

/** Sets of disjoint pools. They are tiny, so that they fill up, and the sets overlap each other. */
const poolSets: readonly (readonly IPAddressPool[])[] = [
  [pool({ name: 'a', addresses: ['192.0.2.0-192.0.2.2', '2001:db8::-2001:db8::1'] }), pool({ name: 'b', addresses: ['192.0.2.8/31'] })],
  [pool({ name: 'a', addresses: ['192.0.2.0-192.0.2.3', '2001:db8::/126'], avoidBuggyIPs: true })],
  [
    pool({ name: 'b', addresses: ['192.0.2.0/30', '2001:db8::1-2001:db8::1'], autoAssign: false }),
    pool({ name: 'c', addresses: ['192.0.2.8-192.0.2.8'] }),
  ],
  [pool({ name: 'c', addresses: ['192.0.2.0/28'], serviceAllocation: { priority: 1, serviceSelectors: [matching({ app: 'x' })] } })],
  [],
];

const services: readonly ServiceKey[] = ['n/a', 'n/b', 'n/c', 'm/d', 'm/e'];
const someAddress = fc.constantFrom('192.0.2.0', '192.0.2.1', '192.0.2.8', '2001:db8::1').map(address);
const terms = fc.record(
  {
    requestedAddresses: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      fc.uniqueArray(someAddress, { maxLength: 3, selector: formatAddress }),
    ),
    requestedPool: fc.constantFrom('a', 'b'),
    sharingKey: fc.constantFrom('k', 'l'),
    ports: fc.subarray([
      { protocol: 'TCP' as const, port: 80 },
      { protocol: 'UDP' as const, port: 80 },
      { protocol: 'TCP' as const, port: 443 },
    ]),
    externalTrafficPolicy: fc.constantFrom('Cluster' as const, 'Local' as const),
    selectorText: fc.constantFrom('', 'app=x'),
    stack: fc.constantFrom(
      { policy: 'SingleStack' as const, families: [4] as const },
      { policy: 'SingleStack' as const, families: [6] as const },
      { policy: 'PreferDualStack' as const, families: [6, 4] as const },
      { policy: 'RequireDualStack' as const, families: [4, 6] as const },
    ),
    labels: fc.constantFrom({}, { app: 'x' }),
    sharingNamespaces: fc.constantFrom([], ['*'], ['m'], ['n']),
    keepsAddresses: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  },
  {
    requiredKeys: [
      'requestedAddresses',
      'ports',
      'externalTrafficPolicy',
      'selectorText',
      'stack',
      'labels',
      'sharingNamespaces',
      'keepsAddresses',
    ],
  },
);

const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('allocate' as const), service: fc.constantFrom(...services), terms }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('repeat' as const), service: fc.constantFrom(...services) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('release' as const), service: fc.constantFrom(...services) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('pools' as const), pools: fc.constantFrom(...poolSets) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restart' as const) }) },
);

/** The state that the test keeps of a Service: its request, and whether the last decision gave a reason. */
interface Known {
  readonly request: AllocationRequest;
  readonly hasReason: boolean;
  /** True when its request changed and was refused. The Service may then move as soon as the request can be met. */
  readonly asking: boolean;
}

class World {
  pools: readonly IPAddressPool[] = poolSets[0] ?? [];
  allocator: Allocator = createAllocator(this.pools);
  readonly known = new Map<ServiceKey, Known>();

  held(service: ServiceKey): readonly string[] {
    return (this.allocator.assignmentOf(service)?.addresses ?? []).map(formatAddress).sort();
  }

  allocate(request: AllocationRequest): void {
    const { service } = request;
    const before = this.held(service);
    const old = this.known.get(service);
    const others = services.filter((other) => other !== service).map((other) => this.held(other));
    const decided = this.allocator.decide(request);
    const { addresses, reason } = this.allocator.allocate(request);
    assert.deepEqual({ addresses, reason }, { addresses: decided.addresses, reason: decided.reason });
    assert.deepEqual(
      services.filter((other) => other !== service).map((other) => this.held(other)),
      others,
    );

    const after = this.held(service);
    assert.deepEqual(addresses.map(formatAddress).toSorted(), after);
    const wasAsked = old === undefined || old.asking || differs(old.request, request);
    assert(wasAsked || before.every((address) => after.includes(address)), 'an address moves only when its owner asks');
    const isAnothers = (address: string): boolean => this.mayNotBeServed(request, address);
    const lacksFamily = (held: string): boolean => !request.keepsAddresses && !request.families.includes(address(held).family);
    const isLost = (held: string): boolean => isAnothers(held) || lacksFamily(held);
    assert(before.length === 0 || after.length > 0 || before.every(isLost), 'a request that cannot be met releases nothing');
    assert(!after.some(isAnothers), 'no Service keeps an address at which nodes cannot serve it');
    assert(!after.some(lacksFamily), 'no Service keeps an address of a family that it no longer has');
    assert(before.length > 0 || after.length > 0 === (reason === undefined), 'a Service gets an address or a reason');
    for (const address of addresses) if (!before.includes(formatAddress(address))) this.expectGiven(request, address);
    this.known.set(service, { request, hasReason: reason !== undefined, asking: reason !== undefined && wasAsked });
  }

  /** True when another Service holds the address, and has another sharing key or a port of the request. */
  mayNotBeServed(request: AllocationRequest, held: string): boolean {
    return this.allocator.holdersOf(address(held)).some((other) => {
      const partner = this.known.get(other);
      return other !== request.service && partner !== undefined && !canServeTogether(request, partner.request);
    });
  }

  /** Checks an address that the Service got in this step. */
  expectGiven(request: AllocationRequest, given: Address): void {
    assert(this.allocator.poolOf(given) !== undefined, 'addresses come from pools');
    assert(request.families.includes(given.family));
    for (const other of this.allocator.holdersOf(given)) {
      const partner = this.known.get(other);
      const mayShare = partner === undefined || other === request.service || whyNotShared(request, partner.request) === undefined;
      assert(mayShare, 'a Service is never given an address that another holds');
    }
  }

  release(service: ServiceKey): void {
    this.allocator.release(service, 0);
    this.known.delete(service);
    assert.deepEqual(this.held(service), []);
  }

  setPools(pools: readonly IPAddressPool[]): void {
    const before = services.map((service) => this.held(service));
    this.pools = pools;
    this.allocator.setPools(pools);
    assert.deepEqual(
      services.map((service) => this.held(service)),
      before,
    );
  }

  restart(): void {
    const record = services.map((service) => [service, this.allocator.assignmentOf(service)?.addresses ?? []] as const);
    const before = services.map((service) => this.held(service));
    this.allocator = createAllocator(this.pools);
    for (const [service, addresses] of record) {
      const known = this.known.get(service);
      if (known === undefined || addresses.length === 0) continue;
      const { reason } = this.allocator.adopt(known.request, addresses);
      this.known.set(service, { ...known, hasReason: reason !== undefined });
    }
    assert.deepEqual(
      services.map((service) => this.held(service)),
      before,
    );
  }

  /** Checks that every address shared against the rules has a reason on at least one of its two holders. */
  expectReasonForDisputes(): void {
    for (const [service, { request, hasReason }] of this.known) {
      for (const held of this.held(service)) {
        for (const other of this.allocator.holdersOf(address(held))) {
          const partner = this.known.get(other);
          if (other === service || partner === undefined || whyNotShared(request, partner.request) === undefined) continue;
          assert(hasReason || partner.hasReason, 'one of two Services that may not share has a reason');
        }
      }
    }
  }
}

describe('an allocator after a random sequence of operations', () => {
  test('Services never get held addresses, move only when their owner asks, and release everything', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 40 }), (operations) => run(operations)),
      { numRuns: runs(1000) },
    );
  });

  // Found by seed 1740794102: the second Service leaves the sharing key and finds no second family, and the restart made the third one move.
  test('a sharer stays after a restart when its partner left the key and found no other address', () => {
    const plain = { requestedAddresses: [], ports: [], externalTrafficPolicy: 'Cluster' as const, selectorText: '' as const, labels: {} };
    const rest = { ...plain, sharingNamespaces: [] as const, keepsAddresses: false };
    const [four, six, both] = [
      { policy: 'SingleStack' as const, families: [4] as const },
      { policy: 'SingleStack' as const, families: [6] as const },
      { policy: 'RequireDualStack' as const, families: [4, 6] as const },
    ];
    const operations: Operation[] = [
      { op: 'allocate', service: 'n/b', terms: { ...rest, sharingKey: 'l' as const, stack: four } },
      { op: 'allocate', service: 'n/a', terms: { ...rest, keepsAddresses: true, stack: six } },
      { op: 'allocate', service: 'n/c', terms: { ...rest, sharingKey: 'l', stack: both } },
      { op: 'allocate', service: 'n/b', terms: { ...rest, stack: both } },
      { op: 'restart' },
      { op: 'repeat', service: 'n/c' },
    ];
    expect(() => run(operations)).not.toThrow();
  });
});

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

function run(operations: readonly Operation[]): void {
  const world = new World();
  for (const step of operations) {
    switch (step.op) {
      case 'allocate': {
        const { stack, ...rest } = step.terms;
        const namespace = step.service.slice(0, 1);
        world.allocate({ service: step.service, namespace, namespaceLabels: {}, ...rest, ...stack });
        break;
      }
      case 'repeat': {
        const known = world.known.get(step.service);
        if (known !== undefined) world.allocate(known.request);
        break;
      }
      case 'release':
        world.release(step.service);
        break;
      case 'pools':
        world.setPools(step.pools);
        break;
      case 'restart':
        world.restart();
        break;
    }
    world.expectReasonForDisputes();
    expectCounted(world.allocator);
  }
  for (const service of services) world.allocator.release(service, 0);
  expect(world.allocator.usage().filter(({ total, free, assigned }) => total !== free || assigned > 0)).toEqual([]);
  expect([...world.allocator.assignments()]).toEqual([]);
}

describe('the steps of one allocation', () => {
  const simple = (name: string, rest: Partial<AllocationRequest> = {}): AllocationRequest => ({
    service: `n/${name}`,
    namespace: 'n',
    namespaceLabels: {},
    labels: {},
    families: [4],
    policy: 'SingleStack',
    requestedAddresses: [],
    ports: [],
    externalTrafficPolicy: 'Cluster',
    selectorText: '',
    sharingNamespaces: [],
    keepsAddresses: false,
    ...rest,
  });

  test.each([
    ['10.0.0.0/8', { avoidBuggyIPs: false }, 4],
    ['10.0.0.0/8', { avoidBuggyIPs: true }, 4],
    ['2001:db8::/64', {}, 6],
  ] as const)('%s %j: the number of steps does not grow with the number of assigned addresses', (range, options, family) => {
    const allocator = createAllocator([pool({ name: 'p', addresses: [range], ...options })]);
    const stepsOf = (name: string): number => {
      const before = allocator.steps();
      expect(allocator.allocate(simple(name, { families: [family] })).reason).toBeUndefined();
      return allocator.steps() - before;
    };
    const worst = (from: number, count: number): number =>
      Math.max(...Array.from({ length: count }, (_, index) => stepsOf(`s${from + index}`)));
    const first = worst(0, 600);
    for (let index = 600; index < 10_000; index++) allocator.allocate(simple(`s${index}`, { families: [family] }));
    expect(worst(10_000, 600)).toBeLessThanOrEqual(first);
    expect(first).toBeLessThanOrEqual(16);
  });

  test('the number of steps grows with the logarithm of the number of gaps', () => {
    const allocator = createAllocator([pool({ name: 'p', addresses: ['10.0.0.0/8'] })]);
    for (let index = 0; index < 8192; index++) allocator.allocate(simple(`s${index}`));
    for (let index = 1; index < 8192; index += 2) allocator.release(`n/s${index}`, 0);
    const before = allocator.steps();
    expect(allocator.allocate(simple('gap')).addresses.map(formatAddress)).toEqual(['10.0.0.1']);
    expect(allocator.steps() - before).toBeLessThanOrEqual(2 + 14);
  });
});

/** Checks that the usage of each pool matches the held addresses. A shared address counts once. */
function expectCounted(allocator: Allocator): void {
  const held = [...allocator.assignments()].flatMap(({ addresses }) => addresses);
  const counts = new Map<string, number>();
  for (const address of new Map(held.map((address) => [formatAddress(address), address])).values()) {
    const pool = `${allocator.poolOf(address)}/${address.family}`;
    counts.set(pool, (counts.get(pool) ?? 0) + 1);
  }
  for (const { pool, family, assigned } of allocator.usage()) expect(assigned).toBe(counts.get(`${pool}/${family}`) ?? 0);
}
