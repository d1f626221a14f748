import { expect, test } from 'vitest';
import { createAllocator, type Allocator } from '../../../../src/decisions/allocation/allocator.ts';
import { allocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { AddressQueue } from '../../../../src/decisions/allocation/address-queue.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { cluster, pool, service, type ServiceLiteral } from '../fixtures.ts';

const dual = { clusterIPs: ['10.96.0.1', 'fd96::1'] };
const required = { ...dual, ipFamilyPolicy: 'RequireDualStack' } as const;

/** Decides one Service after the other, as a controller does. */
class QueueDriver {
  readonly allocator: Allocator;
  readonly queue: AddressQueue;

  constructor(...addresses: readonly string[]) {
    this.allocator = createAllocator([pool({ name: 'main', addresses })]);
    this.queue = new AddressQueue(this.allocator);
  }

  decide(name: string, rest: Omit<ServiceLiteral, 'name'> = {}): void {
    const request = allocationRequest(service({ name, ...rest }), cluster({}));
    const { reason } = this.allocator.stage(request);
    if (reason === undefined) this.queue.dequeue(request.service);
    else this.queue.enqueue(request, reason);
  }

  confirm(name: string): ServiceKey[] {
    return this.queue.takeNext(this.allocator.confirm(keyOf(name)));
  }

  release(name: string): ServiceKey[] {
    this.queue.dequeue(keyOf(name));
    return this.queue.takeNext(this.allocator.release(keyOf(name), 0));
  }
}

const keyOf = (name: string): ServiceKey => (name.includes('/') ? (name as ServiceKey) : `default/${name}`);
const both = ['192.0.2.1-192.0.2.1', '2001:db8::1-2001:db8::1'];

test('an address that chosen Services do not take is offered to the others', () => {
  const driver = new QueueDriver(...both);
  const six = { clusterIPs: ['fd96::1'] };
  driver.decide('holder', required);
  driver.decide('six', six);
  driver.decide('two', required);
  driver.decide('four');
  expect(driver.release('holder')).toEqual(['default/six', 'default/two']);
  driver.decide('six', six);
  // Nothing is offered while a chosen Service is still undecided.
  expect(driver.confirm('six')).toEqual([]);
  driver.decide('two', required);
  expect(driver.confirm('two')).toEqual(['default/four']);
  driver.decide('four');
  // The reason of the Service that still waits may name another holder now.
  expect(driver.confirm('four')).toEqual(['default/two']);
});

test('a chosen Service that was deleted does not hold up the others', () => {
  const driver = new QueueDriver('192.0.2.1-192.0.2.1');
  for (const name of ['holder', 'next', 'last']) driver.decide(name);
  expect(driver.release('holder')).toEqual(['default/next']);
  expect(driver.release('next')).toEqual(['default/last']);
});

test('a Service that cannot use a freed address is not retried for it', () => {
  const driver = new QueueDriver('192.0.2.1-192.0.2.1');
  driver.decide('holder');
  driver.decide('other', { requestedPool: 'other' });
  expect(driver.release('holder')).toEqual([]);
  driver.decide('other', { requestedPool: 'other' });
  expect(driver.confirm('other')).toEqual([]);
});

test('only the waiting Services whose reason names the holder are decided again when it releases', () => {
  const driver = new QueueDriver('192.0.2.1-192.0.2.2');
  for (const name of ['b', 'c', 'd', 'e']) driver.decide(name);
  expect(driver.allocator.takeChangedHolders()).toEqual(new Set(['default/main']));
  // `d` waits the longest and gets the address. `e` named `b`, and is decided once the address has its next holder.
  expect(driver.release('b')).toEqual(['default/d']);
  driver.decide('d');
  expect(driver.confirm('d')).toEqual(['default/e']);
  driver.decide('e');
  expect(driver.confirm('e')).toEqual([]);
  // `e` named `c`, which stays; the third by name is of no concern.
  driver.decide('other/f');
  driver.decide('e');
  expect(driver.confirm('e')).toEqual([]);
});
