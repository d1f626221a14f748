import { expect, test } from 'vitest';
import { fingerprintNodes, emptyFingerprint } from '../../../../providers/aws/schedule/node-fingerprint.ts';
import type { Node } from '../../../../src/model/objects/cluster.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { node } from '../support/stack-fixture.ts';

const labelled = (labels: Readonly<Record<string, string>>, overrides: Partial<Node> = {}): Node => {
  const plain = node(0, overrides);
  return { ...plain, metadata: { ...plain.metadata, labels } };
};

/** True when the fingerprint changes when the first node changes. */
function matters(before: Node, after: Node): boolean {
  const { snapshot, apply } = fixture();
  apply({ name: 'web', annotations: { 'target-node-labels': 'group=a, zone' } });
  snapshot.upsert(before);
  const initial = fingerprintNodes(snapshot, emptyFingerprint);
  snapshot.upsert(after);
  const next = fingerprintNodes(snapshot, initial);
  // Without a change the fingerprint stays the same.
  expect(fingerprintNodes(snapshot, next)).toEqual(next);
  return next.fingerprint !== initial.fingerprint;
}

function fixture(): { snapshot: ProviderFixture['snapshot']; apply: ProviderFixture['apply'] } {
  const fixture = new ProviderFixture();
  return { snapshot: fixture.snapshot, apply: (service) => fixture.apply(service) };
}

test.each([
  ['no change of a label that no Service selects by', { 'feature.node.kubernetes.io/cpu': 'yes' }, false],
  ['a change of a label that a Service selects by', { group: 'b' }, true],
  ['a change of another label that a Service selects by', { zone: '1' }, true],
  ['a change of a label that excludes the node', { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }, true],
  ['a change of the label of Fargate', { 'eks.amazonaws.com/compute-type': 'fargate' }, true],
] as const)('the fingerprint shows %s', (_, labels, expected) => {
  expect(matters(labelled({}), labelled(labels))).toBe(expected);
  expect(matters(labelled(labels), labelled({}))).toBe(expected);
});

test('the fingerprint changes when a node becomes unready, leaves or is another machine', () => {
  for (const change of [
    { ready: false },
    { toBeDeleted: true },
    { disrupted: true as const },
    { providerID: 'aws:///us-east-1a/i-0000000f' },
  ])
    expect(matters(labelled({}), labelled({}, change))).toBe(true);
  expect(matters(labelled({}), labelled({}, { networkUnavailable: true }))).toBe(false);
});
