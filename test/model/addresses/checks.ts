import assert from 'node:assert';
import { createAllocator, type Allocator } from '../../../src/decisions/allocation/allocator.ts';
import { decideAllocationClaim } from '../../../src/decisions/allocation/claim.ts';
import { effectivePools } from '../../../src/decisions/allocation/pools/pools.ts';
import { allocationRequest, type AllocationRequest } from '../../../src/decisions/allocation/request.ts';
import { whyNotShared } from '../../../src/decisions/allocation/ledger/sharing.ts';
import { canServeTogether } from '../../../src/model/objects/sharing-terms.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { service } from '../../unit/decisions/fixtures.ts';
import { serviceKeys } from './random-objects.ts';
import { textsOf, type RunningController } from './running-controller.ts';
import type { ClusterState } from './cluster-state.ts';

/** Checks the state after everything was delivered and written. */
export function expectSettled(state: ClusterState, { source: { snapshot }, allocator }: RunningController): void {
  const requests = [...state.services.values()].map((one) => allocationRequest(one, snapshot));
  for (const request of requests) {
    const record = state.records.get(request.service);
    const service = state.services.get(request.service);
    if (service === undefined || !decideAllocationClaim(service, snapshot.config).mine) continue;
    assert(record !== undefined, `${request.service} has no record`);
    assert(record.ingress.length > 0 || record.since !== undefined, `${request.service} has no address and no reason`);
    if (record.since !== undefined) expectNoFreeAddress(allocator, request);
    for (const other of requests) expectShared(state, request, other);
  }
  for (const key of state.records.keys()) assert(state.services.has(key), `the record of ${key} was not removed`);
}

/** A Service that waits for an address would not get one from a new decision either. */
function expectNoFreeAddress(allocator: Allocator, request: AllocationRequest): void {
  const { reason, addresses } = allocator.decide(request);
  const had = addresses.map(formatAddress).join();
  assert(reason !== undefined, `${request.service} waits, although it would get ${had}`);
}

function expectShared(state: ClusterState, a: AllocationRequest, b: AllocationRequest): void {
  if (a.service === b.service || whyNotShared(a, b) === undefined) return;
  const [ours, theirs] = [state.records.get(a.service), state.records.get(b.service)];
  const both = textsOf(ours?.ingress).filter((address) => textsOf(theirs?.ingress).includes(address));
  assert(both.length === 0 || canServeTogether(a, b), `${a.service} and ${b.service} hold ${both.join()}, where nodes cannot serve both`);
  const told = ours?.since !== undefined || theirs?.since !== undefined;
  assert(both.length === 0 || told, `${a.service} and ${b.service} hold ${both.join()}, may not share it, and neither has a reason`);
}

/** Without any Service, every address is free again: as many new Services get an address as the pools have room for. */
export async function expectNothingLeaks(state: ClusterState, running: RunningController): Promise<void> {
  for (const key of serviceKeys) {
    state.removeService(key);
    running.recordChange('Service', key);
  }
  await running.settle();
  assert.deepEqual([...state.records], [], 'records were not removed');
  const { pools } = effectivePools(running.source.snapshot.pools);
  const untouched = createAllocator(pools);
  const plain = Array.from({ length: 24 }, (_, index) => service({ name: `n/plain${index}`, loadBalancerClass: 'herald.dev/herald' }));
  const room = plain.filter((one) => untouched.allocate(allocationRequest(one, running.source.snapshot)).addresses.length > 0).length;
  for (const one of plain) {
    state.putService(`n/${one.metadata.name}`, one);
    running.recordChange('Service', `n/${one.metadata.name}`);
  }
  await running.settle();
  const served = [...state.records.values()].filter(({ ingress }) => ingress.length > 0).length;
  assert.equal(served, room, 'an address leaked');
}
