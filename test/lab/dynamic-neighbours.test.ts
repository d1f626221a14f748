import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionStatus } from '../../src/model/objects/node-state.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * A node that knows no router by its address: tor1 and tor2 (FRR) connect to it. The BGPPeer allows the AS number of tor1 first, and then
 * those of both.
 */
let lab: Lab;
let herald: HeraldInLab;
let address: string;

const asns = { tor1: 65_101, tor2: 65_102 } as const;
const nodeAddress = { tor1: '10.1.0.11', tor2: '10.2.0.11' } as const;

const peer = (range: string): string => `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: tors }
spec:
  myASN: 64512
  dynamicASN: external
  dynamicNeighbors: { ranges: [10.1.0.0/24, 10.2.0.0/24], asns: [${range}], maximum: 4 }
  holdTime: 90s
`;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }], nodes: 1 }));
  for (const tor of ['tor1', 'tor2'] as const) {
    const neighbor = `neighbor ${nodeAddress[tor]}`;
    await lab
      .router(tor)
      .configure([
        `router bgp ${asns[tor]}`,
        `${neighbor} remote-as 64512`,
        `${neighbor} timers connect 1`,
        'address-family ipv4 unicast',
        `${neighbor} activate`,
      ]);
  }
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  // The document before the first pool: the four BGPPeers of the example.
  await herald.edit('20-herald.yaml', (text) => text.slice(text.indexOf('---\napiVersion: herald.dev/v1alpha1\nkind: IPAddressPool')));
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/^.*nodeName: node[23].*\n/gm, ''));
  await herald.write('21-tors.yaml', peer('{ from: 65101 }'));
  await herald.start(['node1']);
  address = (await herald.untilAssigned('shop/web', 2)).find((one) => !one.includes(':')) ?? '';
});

afterAll(async () => {
  await lab?.stop();
});

/** The one session that node1 reports. */
async function session(): Promise<SessionStatus | undefined> {
  const [first] = (await herald.sessions('node1')) as unknown as readonly SessionStatus[];
  return first;
}

const established = (status: SessionStatus | undefined): string[] =>
  (status?.neighbors ?? [])
    .filter(({ state }) => state === 'Established')
    .map((one) => `${one.address} ${one.peerASN}`)
    .toSorted();

async function hasRoute(tor: 'tor1' | 'tor2'): Promise<boolean> {
  const { paths = [] } = await lab
    .router(tor)
    .show<{ readonly paths?: readonly { readonly nexthops: readonly { readonly ip: string }[] }[] }>(
      `show bgp ipv4 unicast ${address}/32 json`,
    );
  return paths.some(({ nexthops }) => nexthops.some(({ ip }) => ip === nodeAddress[tor]));
}

test('a router from the range gets session and routes if its AS number is allowed, otherwise none', async () => {
  await lab.until('tor1 has the route', () => hasRoute('tor1'));
  await lab.until('node1 reports tor1', async (note) => note(established(await session())).join() === '10.1.0.1 65101');
  expect(await session()).toMatchObject({ peer: 'tors', address: '10.1.0.0/24, 10.2.0.0/24', state: 'Established', peerASN: 65_101 });
  expect(await hasRoute('tor2')).toBe(false);
});

test('a wider range of AS numbers admits the other router', async () => {
  await herald.write('21-tors.yaml', peer('{ from: 65101, to: 65102 }'));
  await lab.until('both ToRs have the route', async () => (await hasRoute('tor1')) && (await hasRoute('tor2')));
  await lab.until('node1 reports both', async (note) => note(established(await session())).join() === '10.1.0.1 65101,10.2.0.1 65102');
});

test('explain lists the routers that connected, and the session counts as one', async () => {
  const { stdout } = await herald.run('explain', 'peer', 'tors', '--source', herald.directory);
  expect(stdout).toContain('at most 4 routers that connect from 10.1.0.0/24, 10.2.0.0/24, with the AS numbers 65101 to 65102');
  expect(stdout).toMatch(/^ {4}10\.1\.0\.1 \(AS 65101\): Established/m);
  expect(stdout).toMatch(/^ {4}10\.2\.0\.1 \(AS 65102\): Established/m);
});

test('routers lose the routes when the BGPPeer is removed', async () => {
  await herald.remove('21-tors.yaml');
  await lab.until('no ToR has the route', async () => !(await hasRoute('tor1')) && !(await hasRoute('tor2')));
  await lab.until('node1 reports no session', async () => (await session()) === undefined);
});
