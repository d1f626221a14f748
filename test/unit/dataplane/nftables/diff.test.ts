import { expect, test } from 'vitest';
import { Difference, SharedElements } from '../../../../src/dataplane/nftables/diff.ts';
import { elementFromText } from '../../../support/commands/element-from-text.ts';
import type { Element } from '../../../../src/dataplane/ruleset/element.ts';
import type { ElementList } from '../../../../src/dataplane/ruleset/element-list.ts';

const clusterIp = elementFromText(4, 'cluster_ips', '10.0.0.1');
const other = elementFromText(4, 'cluster_ips', '10.0.0.2');
const texts = (elements: ElementList): string[] => Array.from(elements, ({ key }) => key);

function difference(known: SharedElements, changes: readonly { before: Element[]; after: Element[] }[], pending?: Difference): Difference {
  const result = new Difference(known, pending);
  for (const change of changes) result.includeChange(change);
  return result.complete();
}

test('a difference knows the shared elements of the one that is being committed', () => {
  const known = new SharedElements();
  const first = difference(known, [{ before: [], after: [clusterIp] }]);
  const second = difference(known, [{ before: [], after: [clusterIp, other] }], first);
  expect([texts(first.adds), texts(second.adds)]).toEqual([[clusterIp.key], [other.key]]);
  known.recordDifference(first);
  known.recordDifference(second);
  // Two users are left, so that the element goes with the second of them.
  const third = difference(known, [{ before: [clusterIp], after: [] }]);
  const fourth = difference(known, [{ before: [clusterIp], after: [] }], third);
  expect([texts(third.deletes), texts(fourth.deletes)]).toEqual([[], [clusterIp.key]]);
});

test('an element that the pending difference deletes is added again', () => {
  const known = new SharedElements();
  known.addUser(clusterIp);
  const first = difference(known, [{ before: [clusterIp], after: [] }]);
  const second = difference(known, [{ before: [], after: [clusterIp] }], first);
  expect([texts(first.deletes), texts(second.adds), texts(second.deletes)]).toEqual([[clusterIp.key], [clusterIp.key], []]);
});
