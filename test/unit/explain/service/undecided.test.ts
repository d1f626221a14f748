import { expect, test } from 'vitest';
import { explainService } from '../../../../src/explain/service/service.ts';
import { withUndecided } from '../../../../src/explain/service/undecided.ts';
import type { UnreadableKind } from '../../../../src/model/store/unreadable-kind.ts';
import { cluster, type PoolLiteral } from '../../decisions/fixtures.ts';

const namespaces: UnreadableKind = { kind: 'Namespace', resource: 'namespaces', why: 'forbidden', message: '' };

type Selection = Pick<PoolLiteral, 'serviceAllocation' | 'autoAssign'>;

const byLabel: Selection = { serviceAllocation: { namespaceSelectors: [{ matchLabels: { team: 'a' }, matchExpressions: [] }] } };
const ofOther: Selection = { serviceAllocation: { namespaces: ['other'] } };
const onRequest: Selection = { serviceAllocation: { namespaces: ['shop'] }, autoAssign: false };

test.each<[string, Selection[], string]>([
  ['a pool that selects by label', [byLabel], 'Undecided'],
  ['a pool that selects by label, and one that gives addresses on request', [byLabel, onRequest], 'Undecided'],
  ['a pool for another namespace by name', [ofOther], 'PoolNamespaceNotSelected'],
  ['a pool for another namespace by name, and one that gives addresses on request', [ofOther, onRequest], 'PoolNotAutoAssigned'],
])('a person who may not list Namespaces gets a certain code: with %s', (_, pools, code) => {
  const literals = pools.map((one, index) => ({ name: `pool${index}`, addresses: [`192.0.2.${index}/32`], ...one }));
  const snapshot = cluster({ services: [{ name: 'shop/web' }], pools: literals });
  const explanation = explainService(snapshot, 'shop/web', 0);
  if (explanation === undefined) throw new RangeError('no such Service');
  const { allocation, verdict } = withUndecided(explanation, { snapshot, unread: [namespaces] }, 'shop');
  expect([allocation.reason?.code, verdict.code]).toEqual([code, code]);
});
