import { expect, test } from 'vitest';
import { ClaimRecord } from '../../../../src/agent/l2/claim-record.ts';
import type { AddressClaim } from '../../../../src/model/objects/node-state.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, type ClusterLiteral } from '../../decisions/fixtures.ts';

const [one, two] = ['192.0.2.1', '192.0.2.2'];

function snapshotWith(claims: ClusterLiteral['claims']): Snapshot {
  return cluster({
    nodes: ['n1', 'n2'].map((name) => ({ name })),
    services: [
      { name: 'a', assigned: [one] },
      { name: 'b', assigned: [two] },
    ],
    links: { n1: {}, n2: {} },
    ...(claims === undefined ? {} : { claims }),
  });
}

function record(claims?: ClusterLiteral['claims']) {
  const now = { snapshot: snapshotWith(claims) };
  return { now, record: new ClaimRecord('n1', () => now.snapshot) };
}

const numbers = (claims: readonly AddressClaim[] | undefined): string[] =>
  (claims ?? []).map(({ address, number }) => `${address} ${number}`);

test('a first claim has number 1, a claim after that of another node the next number', () => {
  const { record: own } = record({ n2: { [two]: 7 } });
  own.claimed(one);
  own.claimed(two);
  expect(numbers(own.reportPart().claims)).toEqual([`${one} 1`, `${two} 8`]);
});

test('a node that claims its own address again keeps the number', () => {
  const { record: own } = record({ n1: { [one]: 4 }, n2: { [one]: 3 } });
  own.claimed(one);
  expect(numbers(own.claims)).toEqual([`${one} 4`]);
});

test('the next process of a node knows what the last one claimed', () => {
  const { record: own } = record({ n1: { [one]: 4 } });
  expect(numbers(own.reportPart().claims)).toEqual([`${one} 4`]);
});

test('a claim is forgotten when another node has claimed the address, or no Service has it', () => {
  const { record: own, now } = record({ n1: { [one]: 4, [two]: 4 } });
  expect(numbers(own.reportPart().claims)).toEqual([`${one} 4`, `${two} 4`]);
  now.snapshot = snapshotWith({ n2: { [one]: 5 } });
  expect(numbers(own.reportPart().claims)).toEqual([`${two} 4`]);
  now.snapshot = { ...now.snapshot, holdersOf: () => [] };
  expect(own.reportPart()).toEqual({});
});

test('the list is the same object while nothing has changed', () => {
  const { record: own } = record({ n1: { [one]: 4 } });
  const before = own.claims;
  own.reportPart();
  expect(own.claims).toBe(before);
  own.claimed(two);
  expect(own.claims).not.toBe(before);
});
