import assert from 'node:assert';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatAddress } from '../../../../src/net/address.ts';
import { createAllocator, type Allocator } from '../../../../src/decisions/allocation/allocator.ts';
import { allocationRequest, type AllocationRequest } from '../../../../src/decisions/allocation/request.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { remedyText } from '../../../../src/model/reasons.ts';
import { cluster, matching, pool, service } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

const keys: readonly ServiceKey[] = ['n/a', 'n/b', 'n/c', 'n/d', 'm/e', 'm/f'];
const addresses = ['192.0.2.0-192.0.2.2', '2001:db8::-2001:db8::1'];

const literal = fc.record({
  name: fc.constantFrom(...keys),
  ports: fc.constantFrom(['80'], ['443'], ['80', '443']),
  stack: fc.constantFrom(
    { clusterIPs: ['10.96.0.1'] },
    { clusterIPs: ['fd96::1'] },
    { clusterIPs: ['fd96::1', '10.96.0.1'] },
    { clusterIPs: ['10.96.0.1', 'fd96::1'], ipFamilyPolicy: 'RequireDualStack' as const },
  ),
  sharing: fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.constant({ sharingKey: 'k', sharingNamespaces: ['*'] }) },
  ),
});
const poolLiteral = fc.record({
  reserved: fc.constantFrom({}, { '192.0.2.0': 'n/a', '2001:db8::': 'm/f' }),
  quota: fc.constantFrom([], [{ namespaceSelector: matching({}), addresses: 2 }]),
  keepReleasedSeconds: fc.constantFrom(0, 60),
});
const second = pool({ name: 'q', addresses: ['198.51.100.0-198.51.100.1'] });
const step = fc.oneof(
  { weight: 6, arbitrary: literal.map(({ stack, sharing, ...rest }) => ({ asks: { ...stack, ...sharing, ...rest } })) },
  { weight: 1, arbitrary: fc.record({ leaves: fc.constantFrom(...keys) }) },
  { weight: 1, arbitrary: fc.record({ avoidBuggyIPs: fc.boolean() }) },
);
const world = fc.record({ literal: poolLiteral, alone: fc.boolean(), steps: fc.array(step, { minLength: 4, maxLength: 14 }) });
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

/** Replays the steps, and returns the allocator with the last request of each Service that is there. */
function replay({ literal: one, alone, steps }: World): { allocator: Allocator; requests: Map<ServiceKey, AllocationRequest> } {
  const pools = (avoidBuggyIPs: boolean) => [pool({ name: 'p', addresses, avoidBuggyIPs, ...one }), ...(alone ? [] : [second])];
  const allocator = createAllocator(pools(false));
  const requests = new Map<ServiceKey, AllocationRequest>();
  for (const each of steps) {
    if ('asks' in each) {
      const request = allocationRequest(service(each.asks), cluster({}));
      requests.set(request.service, request);
      allocator.allocate(request);
    } else if ('leaves' in each) {
      requests.delete(each.leaves);
      allocator.release(each.leaves, 0);
    } else allocator.setPools(pools(each.avoidBuggyIPs));
  }
  allocator.expireReleased(Infinity);
  return { allocator, requests };
}

/** Returns the Service that the fix of the request's reason tells to release. */
function named(allocator: Allocator, request: AllocationRequest): string | undefined {
  const { reason } = allocator.decide(request);
  return reason === undefined ? undefined : /release (\S+\/[a-z])/.exec(remedyText(reason))?.[1];
}

/** True when the request is met once the Service is gone and the pool keeps its addresses no longer. */
function isServedWithout(holder: ServiceKey, request: AllocationRequest, of: World): boolean {
  const { allocator } = replay(of);
  allocator.release(holder, 0);
  allocator.expireReleased(Infinity);
  return allocator.decide(request).reason === undefined;
}

test('a full pool names a Service of the same namespace whose release lets the waiting Service be served', () => {
  let count = 0;
  fc.assert(
    fc.property(world, (of) => {
      const { allocator, requests } = replay(of);
      for (const request of requests.values()) {
        const holder = named(allocator, request) as ServiceKey | undefined;
        if (holder === undefined) continue;
        count++;
        assert(holder.startsWith(`${request.namespace}/`), 'the Service is of the same namespace');
        assert(holder !== request.service, 'the waiting Service is not told to release itself');
        const held = allocator.assignmentOf(holder)?.addresses ?? [];
        assert(
          held.some((address) => allocator.holdersOf(address).length === 1),
          `${holder} alone holds one of ${held.map(formatAddress).join(', ')}`,
        );
        assert(isServedWithout(holder, request, of), `${request.service} is served once ${holder} is released`);
      }
    }),
    { numRuns: runs(700) },
  );
  expect(count).toBeGreaterThan(runs(50));
});

test('in a single full pool without a quota, the first Service by name that can make room is named', () => {
  fc.assert(
    fc.property(world, (any) => {
      const of = { ...any, alone: true, literal: { ...any.literal, quota: [] as const } };
      const { allocator, requests } = replay(of);
      for (const request of requests.values()) {
        // A Service with a sharing key is served too when a sharer with its port goes; the sentence names that one already.
        // The holders of an address that is reserved for the waiting Service are not looked for.
        const isOwner = Object.values(of.literal.reserved).some((owner) => owner === request.service);
        if (isOwner || request.sharingKey !== undefined || allocator.decide(request).reason?.code !== 'PoolFull') continue;
        const others = [...requests.keys()].filter((key) => key !== request.service && key.startsWith(`${request.namespace}/`)).sort();
        const served = others.filter((key) => isServedWithout(key, request, of));
        // PreferDualStack accepts either family; the Service with the one that the sentence calls full comes first.
        if (request.policy === 'PreferDualStack') assert.equal(named(allocator, request) === undefined, served.length === 0);
        else assert.equal(named(allocator, request), served[0]);
      }
    }),
    { numRuns: runs(700) },
  );
});
