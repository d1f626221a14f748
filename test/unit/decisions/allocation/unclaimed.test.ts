import { expect, test } from 'vitest';
import { unclaimedServices } from '../../../../src/decisions/allocation/unclaimed.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, service } from '../fixtures.ts';

const now = Date.parse('2026-01-01T01:00:00Z');

function at(created: string, literal: Parameters<typeof service>[0]): ReturnType<typeof service> {
  const made = service(literal);
  return { ...made, metadata: { ...made.metadata, creationTimestamp: created } };
}

function withServices(services: readonly ReturnType<typeof service>[], defaultClass = false): Snapshot {
  const snapshot = cluster({ config: { defaultClass } });
  return { ...snapshot, services: new Map(services.map((one) => [`${one.metadata.namespace}/${one.metadata.name}` as const, one])) };
}

const names = (snapshot: Snapshot): string[] => unclaimedServices(snapshot, now).map(({ service }) => service);

test('Services without a class are unclaimed after 30 s, in order of their names', () => {
  const services = [
    at('2026-01-01T00:59:00Z', { name: 'shop/b' }),
    at('2026-01-01T00:59:00Z', { name: 'shop/a' }),
    at('2026-01-01T00:59:45Z', { name: 'shop/new' }),
    at('2026-01-01T00:00:00Z', { name: 'shop/other', loadBalancerClass: 'example.com/lb' }),
  ];
  expect(names(withServices(services))).toEqual(['shop/a', 'shop/b']);
  expect(names(withServices(services, true))).toEqual([]);
});

test('an unclaimed Service waits longer where another controller serves Services without a class', () => {
  const theirs = at('2026-01-01T00:00:00Z', { name: 'shop/theirs', assigned: ['203.0.113.7'] });
  expect(names(withServices([theirs, at('2026-01-01T00:59:00Z', { name: 'shop/a' })]))).toEqual([]);
  expect(names(withServices([theirs, at('2026-01-01T00:50:00Z', { name: 'shop/a' })]))).toEqual(['shop/a']);
});
