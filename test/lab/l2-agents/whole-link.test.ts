import { afterAll, beforeAll, expect, test } from 'vitest';
import { documents, type Manifest } from '../host/objects.ts';
import { until } from '../until.ts';
import { AgentsOnSegment } from './agents-on-segment.ts';
import { announcementManifests, serviceManifests } from './manifests.ts';

/** The pool is the link of the nodes, with its first and last addresses: 10.77.0.0/16 and fd77::/64. */
const first = ['10.77.0.1', 'fd77::1'];
/** The kernels of the nodes, which are routers, answer for the third edge themselves: fd77::, the routers' anycast address (RFC 4291 2.6.1). */
const edges = ['10.77.0.0', '10.77.255.255'];
/** On an interface of n1, as keepalived adds it. */
const virtual = ['10.77.0.1', 'fd77::1'];
let lab: AgentsOnSegment;

const wholeLink: Manifest = {
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'IPAddressPool',
  metadata: { name: 'segment' },
  spec: { addresses: ['10.77.0.0/16', 'fd77::/64'] },
};
const manifests = (...services: readonly Manifest[]): Manifest[] => [wholeLink, ...announcementManifests().slice(1), ...services];

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: 2, manifests: manifests() });
  await until('both nodes have reported their interfaces', async (note) => {
    const reports = await Promise.all([0, 1].map((at) => lab.report(at)));
    return note(reports).every((report) => 'interfaces' in report);
  });
  await lab.write('20-herald.yaml', documents(...manifests(...serviceManifests({ pods: [0, 1] }))));
  await lab.watch.ask([...first, ...edges], 25);
});

afterAll(async () => {
  await lab?.close();
});

test('the first Service gets the first address that is not an edge of the link, and one node answers for it', async () => {
  await lab.untilOwned(first);
  const report = await lab.client.tcp({ address: first[0] ?? '', port: 80, count: 5 });
  expect(report.errors).toEqual({});
  for (const edge of edges) expect([edge, await lab.answering(edge, 1_000)]).toEqual([edge, []]);
});

test('an address that a node has on an interface is answered by no agent any more, and the condition says whose it is', async () => {
  for (const [at, length] of [16, 64].entries())
    await lab.exec(1, ['ip', 'addr', 'add', `${virtual[at]}/${length}`, 'dev', 'v0', ...(at === 1 ? ['nodad'] : [])]);
  await until('the condition names the interface', async (note) => {
    const condition = note(await lab.condition('web', 'Announced'));
    return condition?.status === 'False' && condition.message.includes('10.77.0.1 is an address of v0 on node "n1"');
  });
  expect(await lab.explain()).toContain('10.77.0.1 is an address of v0 on node "n1"');
  for (const [at, length] of [16, 64].entries()) await lab.exec(1, ['ip', 'addr', 'del', `${virtual[at]}/${length}`, 'dev', 'v0']);
  await until('the condition is True again', async (note) => note(await lab.condition('web', 'Announced'))?.status === 'True');
  await lab.untilOwned(first);
});
