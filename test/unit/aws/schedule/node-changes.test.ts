import { expect, test } from 'vitest';
import { fingerprintNodes, emptyFingerprint } from '../../../../providers/aws/schedule/node-changes.ts';
import type { Node } from '../../../../src/model/objects/cluster.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { node } from '../support/stack-fixture.ts';

const labelled = (labels: Readonly<Record<string, string>>, overrides: Partial<Node> = {}): Node => {
  const plain = node(0, overrides);
  return { ...plain, metadata: { ...plain.metadata, labels } };
};

/** Whether load balancers are looked at when the first node becomes another. */
function matters(before: Node, after: Node): boolean {
  const { snapshot, apply } = town();
  apply({ name: 'web', annotations: { 'target-node-labels': 'group=a, zone' } });
  snapshot.upsert(before);
  const facts = fingerprintNodes(snapshot, emptyFingerprint);
  snapshot.upsert(after);
  const next = fingerprintNodes(snapshot, facts);
  // What was found holds for the next time as well.
  expect(fingerprintNodes(snapshot, next)).toEqual(next);
  return next.fingerprint !== facts.fingerprint;
}

function town(): { snapshot: ProviderFixture['snapshot']; apply: ProviderFixture['apply'] } {
  const town = new ProviderFixture();
  return { snapshot: town.snapshot, apply: (service) => town.apply(service) };
}

test.each([
  ['a label that nobody asks for', { 'feature.node.kubernetes.io/cpu': 'yes' }, false],
  ['a label by which a Service asks for nodes', { group: 'b' }, true],
  ['another one of them', { zone: '1' }, true],
  ['one that leaves the node out', { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }, true],
  ['Fargate', { 'eks.amazonaws.com/compute-type': 'fargate' }, true],
] as const)('%s', (_, labels, expected) => {
  expect(matters(labelled({}), labelled(labels))).toBe(expected);
  expect(matters(labelled(labels), labelled({}))).toBe(expected);
});

test('that a node is ready, leaves or is another machine', () => {
  for (const change of [
    { ready: false },
    { toBeDeleted: true },
    { disrupted: true as const },
    { providerID: 'aws:///us-east-1a/i-0000000f' },
  ])
    expect(matters(labelled({}), labelled({}, change))).toBe(true);
  expect(matters(labelled({}), labelled({}, { networkUnavailable: true }))).toBe(false);
});
