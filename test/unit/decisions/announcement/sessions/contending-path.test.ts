import { expect, test } from 'vitest';
import { isOfOtherSpeaker } from '../../../../../src/decisions/announcement/sessions/contending-path.ts';

const ours = { asns: new Set([64_512]), routerIDs: () => new Set(['10.1.0.11', '10.1.0.12']) };
const path = { own: '192.0.2.1/32', prefix: '192.0.2.1/32', nextHops: ['10.1.0.99'] };

test.each([
  ['another AS behind the router', { asPath: [65_101, 64_999] }, true],
  ['another node of the cluster', { asPath: [65_101, 64_512] }, false],
  ['a node behind another router', { asPath: [65_101, 65_201, 64_512] }, false],
  ['an aggregate of the router, or its AS in place of ours', { asPath: [65_101] }, false],
  ['another speaker of the same AS', { asPath: [], originatorId: '10.9.0.1' }, true],
  ['a node of the same AS, by a route reflector', { asPath: [], originatorId: '10.1.0.12' }, false],
  ['a route of the same AS without a name', { asPath: [] }, false],
])('%s is another speaker, or not', (_, parts, expected) => {
  expect(isOfOtherSpeaker({ ...path, ...parts }, 65_101, ours)).toBe(expected);
});
