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
    if (this.allocator.stage(request).reason === undefined) this.queue.dequeue(request.service);
    else this.queue.enqueue(request);
  }

  confirm(name: string): ServiceKey[] {
    return this.queue.takeNext(this.allocator.confirm(`default/${name}`));
  }

  release(name: string): ServiceKey[] {
    this.queue.dequeue(`default/${name}`);
    return this.queue.takeNext(this.allocator.release(`default/${name}`, 0));
  }
}

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
  expect(driver.confirm('four')).toEqual([]);
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
