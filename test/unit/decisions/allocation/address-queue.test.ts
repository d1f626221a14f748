import { expect, test } from 'vitest';
import { createAllocator, type Allocator } from '../../../../src/decisions/allocation/allocator.ts';
import { allocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { AddressQueue } from '../../../../src/decisions/allocation/address-queue.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { cluster, pool, service, type ServiceLiteral } from '../fixtures.ts';

const dual = { clusterIPs: ['10.96.0.1', 'fd96::1'] };
const required = { ...dual, ipFamilyPolicy: 'RequireDualStack' } as const;

/** Decides one Service after the other, as a controller does. */
class Line {
  readonly allocator: Allocator;
  readonly line: AddressQueue;

  constructor(...addresses: readonly string[]) {
    this.allocator = createAllocator([pool({ name: 'main', addresses })]);
    this.line = new AddressQueue(this.allocator);
  }

  look(name: string, rest: Omit<ServiceLiteral, 'name'> = {}): void {
    const request = allocationRequest(service({ name, ...rest }), cluster({}));
    if (this.allocator.stage(request).reason === undefined) this.line.dequeue(request.service);
    else this.line.enqueue(request);
  }

  written(name: string): ServiceKey[] {
    return this.line.takeNext(this.allocator.confirm(`default/${name}`));
  }

  release(name: string): ServiceKey[] {
    this.line.dequeue(`default/${name}`);
    return this.line.takeNext(this.allocator.release(`default/${name}`, 0));
  }
}

const both = ['192.0.2.1-192.0.2.1', '2001:db8::1-2001:db8::1'];

test('an address that chosen Services do not take is offered to the others', () => {
  const line = new Line(...both);
  const six = { clusterIPs: ['fd96::1'] };
  line.look('holder', required);
  line.look('six', six);
  line.look('two', required);
  line.look('four');
  expect(line.release('holder')).toEqual(['default/six', 'default/two']);
  line.look('six', six);
  // Nothing is offered while a chosen Service is still undecided.
  expect(line.written('six')).toEqual([]);
  line.look('two', required);
  expect(line.written('two')).toEqual(['default/four']);
  line.look('four');
  expect(line.written('four')).toEqual([]);
});

test('a chosen Service that was deleted does not hold up the others', () => {
  const line = new Line('192.0.2.1-192.0.2.1');
  for (const name of ['holder', 'next', 'last']) line.look(name);
  expect(line.release('holder')).toEqual(['default/next']);
  expect(line.release('next')).toEqual(['default/last']);
});

test('a Service that cannot use a freed address is not retried for it', () => {
  const line = new Line('192.0.2.1-192.0.2.1');
  line.look('holder');
  line.look('other', { requestedPool: 'other' });
  expect(line.release('holder')).toEqual([]);
  line.look('other', { requestedPool: 'other' });
  expect(line.written('other')).toEqual([]);
});
