import { afterAll, beforeAll, expect, test } from 'vitest';
import { documents, heraldConfig, type Manifest } from '../host/objects.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { announcementManifests, nodeAddress, nodeAddress6, nodeManifest, nodeName, serviceManifests } from './manifests.ts';
import { SegmentRouter } from './segment-router.ts';

/**
 * Four nodes whose pool lies in their own network and is announced by BGP to FRR on the same link. A BGPAdvertisement selects three of them.
 * The client on the link has no route to the pool.
 */
const nodes = [0, 1, 2, 3];
const announcing = [0, 1, 2];
const addresses = [vip, vip6];
let lab: AgentsOnSegment;
let router: SegmentRouter;

const selectors = announcing.map((at) => ({ matchLabels: { 'kubernetes.io/hostname': nodeName(at) } }));
const advertisement = (nodeSelectors: readonly Manifest[]): Manifest => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'BGPAdvertisement',
  metadata: { name: 'routers' },
  spec: { ipAddressPools: ['segment'], nodeSelectors },
});

const configure = (answerOnLocalLinks?: boolean): Promise<void> =>
  lab.write(
    '10-nodes.yaml',
    documents(
      heraldConfig({ ...lab.config, ...(answerOnLocalLinks === undefined ? {} : { answerOnLocalLinks }) }),
      ...nodes.map((at) => nodeManifest(at)),
    ),
  );

const write = (among: readonly number[] = announcing): Promise<void> =>
  lab.write(
    '20-herald.yaml',
    documents(
      ...announcementManifests().filter(({ kind }) => kind === 'IPAddressPool'),
      advertisement(selectors.filter((_, index) => among.includes(announcing[index] ?? -1))),
      ...SegmentRouter.peers(router.addresses),
      ...serviceManifests({ pods: nodes }),
    ),
  );

async function untilRouted(among: readonly number[]): Promise<void> {
  for (const address of addresses) {
    const wanted = among
      .map(address.includes(':') ? nodeAddress6 : nodeAddress)
      .toSorted()
      .join();
    await until(`the router sends ${address} to ${wanted}`, async (note) => note(await router.kernelNextHops(address)).join() === wanted);
  }
}

const untilSilent = (): Promise<unknown> =>
  until('no node answers', async (note) => {
    const answering = await Promise.all(addresses.map((address) => lab.answering(address, 500)));
    return note(answering).flat().length === 0;
  });

async function expectAnswers(client: AgentsOnSegment['client']): Promise<void> {
  for (const address of addresses)
    for (const protocol of ['tcp', 'udp'] as const)
      expect((await client[protocol]({ address, port: 80, count: 20 })).errors, `${protocol} ${address}`).toEqual({});
}

const announced = async (): Promise<string> => {
  const { status, message } = (await lab.condition('web', 'Announced')) ?? {};
  return `${status}: ${message}`;
};

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: nodes.length, strangers: 2, idle: true });
  router = await SegmentRouter.start(lab, nodes);
  await configure();
  await write();
  lab.startController();
  await Promise.all(nodes.map((at) => lab.startAgent(at)));
  await lab.watch.ask(addresses, 25);
  await untilRouted(announcing);
});

afterAll(async () => {
  await router?.close();
  await lab?.close();
});

test('without the field the link gets no answer, and condition, explain and plan recommend it', async () => {
  await untilSilent();
  expect((await lab.client.tcp({ address: vip, port: 80, count: 1, timeoutMs: 1_000 })).errors).not.toEqual({});
  await expectAnswers(router.client);
  await until('the condition names the field', async (note) => note(await announced()).includes('answerOnLocalLinks: true'));
  expect(await announced()).toMatch(/^True: .*announced by BGP only and lies in .*, the network of v0/);
  const { stdout } = await lab.herald('plan', '--source', lab.directory, '-f', lab.directory);
  expect(stdout).toContain('Nothing would change');
  await until('explain recommends it', async (note) =>
    note(await lab.explain('shop/web', '--no-ask')).includes('answerOnLocalLinks: true'),
  );
});

test('with the field one of the nodes that announce answers for each address, and the router keeps its routes', async () => {
  await configure(true);
  const owners = await lab.untilOwned();
  expect(announcing).toEqual(expect.arrayContaining([...owners]));
  await expectAnswers(lab.client);
  await expectAnswers(router.client);
  await untilRouted(announcing);
  await until('the condition names both ways', async (note) => note(await announced()).endsWith('by BGP and by ARP or NDP'));
});

test('a node that is cut off is replaced by another that announces', async () => {
  const [owner = 0] = await lab.untilOwned();
  lab.segment.plug(owner, false);
  await until('another node answers for both', async (note) => {
    const answering = note(await Promise.all(addresses.map((address) => lab.answering(address))));
    return answering.every(([at = owner, ...more]) => at !== owner && announcing.includes(at) && more.length === 0);
  });
  lab.segment.plug(owner, true);
  await lab.untilOwned();
  await expectAnswers(lab.client);
});

test('a node that no longer announces no longer answers', async () => {
  const [first = 0] = await lab.untilOwned();
  const others = announcing.filter((at) => at !== first);
  await write(others);
  await untilRouted(others);
  await until('another node answers for both', async (note) => {
    const answering = note(await Promise.all(addresses.map((address) => lab.answering(address))));
    return answering.every(([at = first, ...more]) => others.includes(at) && more.length === 0);
  });
  await expectAnswers(lab.client);
  await write();
  await lab.untilOwned();
});

test('switched off again, no node answers and the routes stay', async () => {
  await configure(false);
  await untilSilent();
  await untilRouted(announcing);
  await expectAnswers(router.client);
});
