import { expect, test } from 'vitest';
import { judgeService } from '../../../../src/controller/services/service-conditions.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { cluster, type ClusterLiteral } from '../../decisions/fixtures.ts';

const lan = { eth0: ['192.0.2.0/24'] };
const office: ClusterLiteral = {
  services: [{ name: 'shop/web', ports: ['http:80/TCP'], assigned: ['192.0.2.100'] }],
  slices: [{ service: 'shop/web', ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2'] }],
  pools: [{ name: 'office', addresses: ['192.0.2.100-192.0.2.109'] }],
  l2Advertisements: [{ name: 'office' }],
  nodes: [{ name: 'n1' }, { name: 'n2' }],
  links: { n1: lan, n2: lan },
};

const kernelAnswers = (node: string): Reason =>
  reason('L2KernelAnswers', { node, address: '192.0.2.100', because: 'the address is on kube-ipvs0', remedy: 'take it from there' });

const strangerAnswers = (node: string): Reason =>
  reason('L2AddressContested', { node, address: '192.0.2.100', linkAddress: '02:00:00:00:00:99', interface: 'eth0' });

/** The condition Announced when these nodes report the reason. */
function announced(why: (node: string) => Reason, ...nodes: readonly string[]): readonly string[] {
  const snapshot = cluster(office);
  const now = new Date(snapshot.nodeStates.get('n1')?.updated ?? 0).getTime();
  const nodeStates = new Map(
    [...snapshot.nodeStates].map(([node, state]): [string, NodeState] => {
      const differing = [{ service: 'shop/web', aspect: 'Announced', reason: why(node) }] as const;
      return [node, nodes.includes(node) ? { ...state, differing } : state];
    }),
  );
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  const { conditions, verdict } = judgeService({ ...snapshot, nodeStates }, web, { reason: undefined, details: [] }, now);
  const condition = conditions.find(({ type }) => type === 'herald.dev/Announced');
  return [condition?.status ?? '', condition?.reason ?? '', condition?.message ?? '', verdict?.code ?? ''];
}

test('the condition Announced stays True and says that a second node answers, with the fix', () => {
  expect(announced(kernelAnswers)).toEqual(['True', 'Announced', 'Every address of the Service is announced by at least one node', '']);
  const [status, code, message, verdict] = announced(kernelAnswers, 'n1', 'n2');
  expect([status, code, verdict]).toEqual(['True', 'L2KernelAnswers', 'L2KernelAnswers']);
  expect(message).toMatch(
    /^Announced, but two nodes answer at once: the kernel of node "n[12]" answers for 192\.0\.2\.100 by itself: the address is on kube-ipvs0/,
  );
});

test('the condition Announced stays True and says that a foreign host answers too', () => {
  const [status, code, message, verdict] = announced(strangerAnswers, 'n1', 'n2');
  expect([status, code, verdict]).toEqual(['True', 'L2AddressContested', 'L2AddressContested']);
  expect(message).toMatch(/^Not fully served: 02:00:00:00:00:99 on eth0 of node "n[12]" uses 192\.0\.2\.100 too/);
});
