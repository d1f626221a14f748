import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HeraldInLab } from './herald.ts';
import type { Lab } from './lab.ts';
import { startOneNodeFabric } from './one-node-fabric.ts';

/** PrefixContended: another speaker announces the addresses of a Service: the routers prefer its paths, and send them to the nodes. */
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  ({ lab, herald, addresses } = await startOneNodeFabric());
});

afterAll(async () => {
  await lab?.stop();
});

const line = async (): Promise<string> => (await herald.explain('shop/web')).split('\n')[0] ?? '';

/** Has the spine announce the addresses to the routers, which prefer what it announces, or takes that back. */
async function contend(verb: '' | 'no '): Promise<void> {
  const spine = lab.router('spine');
  const { stdout: running } = await spine.exec(['vtysh', '-N', spine.namespace, '-c', 'show running-config']);
  const [, asn = ''] = /^router bgp (\d+)/m.exec(running) ?? [];
  const [four = '', six = ''] = [addresses.find((one) => !one.includes(':')), addresses.find((one) => one.includes(':'))];
  const networks = [
    ['ipv4', `${four}/32`],
    ['ipv6', `${six}/128`],
  ] as const;
  await spine.configure([
    `${verb}ip route ${four}/32 blackhole`,
    `${verb}ipv6 route ${six}/128 blackhole`,
    `router bgp ${asn}`,
    ...networks.flatMap(([family, prefix]) => [`address-family ${family} unicast`, `${verb}network ${prefix}`, 'exit-address-family']),
  ]);
}

test('explain names the router and the other speaker, over both families, until it is gone', async () => {
  await lab.until('it is announced', async (note) => /^(?:Served|Announced)/.test(note(await line())));
  for (const tor of ['tor1', 'tor2'] as const) {
    const router = lab.router(tor);
    const { stdout: running } = await router.exec(['vtysh', '-N', router.namespace, '-c', 'show running-config']);
    const [, asn = ''] = /^router bgp (\d+)/m.exec(running) ?? [];
    const neighbors = [...running.matchAll(/^ neighbor (\S+) remote-as (\d+|external)/gm)].map(([, name = '']) => name);
    const spine = neighbors.filter((name) => !name.startsWith('NODES'));
    await router.configure([
      'route-map PREFER permit 10',
      'set local-preference 500',
      'exit',
      `router bgp ${asn}`,
      ...['ipv4', 'ipv6'].flatMap((family) => [
        `address-family ${family} unicast`,
        ...spine.map((name) => `neighbor ${name} route-map PREFER in`),
        // The routers of the lab announce nothing to nodes otherwise.
        'no neighbor NODES route-map NOTHING out',
        'exit-address-family',
      ]),
    ]);
  }
  await contend('');
  const said = await lab.until(
    'the other speaker is named',
    async (note) => {
      const text = await herald.explain('shop/web');
      note(text);
      return addresses.every((address) => text.includes(`prefers another path for ${address}/`)) ? text : undefined;
    },
    60_000,
  );
  expect(said.split('\n')[0]).toMatch(/another speaker announces this address/);
  await contend('no ');
  await lab.until('nothing is said of it', async (note) => !note(await herald.explain('shop/web')).includes('another path'), 60_000);
});
