import { setTimeout as sleep } from 'node:timers/promises';
import type { Scene } from '../misconfiguration.ts';
import { advertisement } from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';
import { podAt, serviceTo, type TruthCase } from './truth-case.ts';

const tors = ['tor1', 'tor2'] as const;
const healthy: Pick<TruthCase, 'before'> = { before: (place) => serviceTo(place, [podAt('node1'), podAt('node2')]) };

/** Mistakes in routers, of which Herald sees nothing but that nobody connects. */
export const routerTruths: readonly TruthCase[] = [
  {
    name: 'router-filters',
    mistake: 'Both routers refuse the prefixes by a route map.',
    // Routers ask for all routes again, so what was answered before does not count.
    ...unknown(50, 'router-filters', { isQuietBefore: false }),
    act: async (scene, place) => {
      await filterOnRouters(scene, place, true);
      // FRR asks for all routes again up to 5 s after a change of a route-map. Answers at other Services count only afterwards.
      await sleep(8000);
      await untilUnknown(scene, place);
    },
    undo: (scene, place) => filterOnRouters(scene, place, false),
  },
  {
    name: 'router-blackhole',
    mistake: 'Both routers have a static blackhole route to the addresses.',
    ...unknown(51, 'router-blackhole'),
    act: (scene, place) => blackhole(scene, place, 'add'),
    undo: (scene, place) => blackhole(scene, place, 'del'),
  },
  {
    name: 'no-advertise',
    mistake: 'The BGPAdvertisement attaches no-advertise, so routers pass the routes on to nobody.',
    ...unknown(52, 'no-advertise', {
      cause:
        'Their routes carry no-advertise (spec.communities of the BGPAdvertisement), so routers pass them on to nobody: remove it, unless these routers are the gateways of all clients. ',
    }),
    after: (place) => [
      ...serviceTo(place, [podAt('node1'), podAt('node2')]).filter(({ kind }) => kind !== 'BGPAdvertisement'),
      advertisement(place, { spec: { communities: ['no-advertise'] } }),
    ],
    act: untilUnknown,
  },
];

/** Nobody was answered since. */
function unknown(
  index: number,
  name: string,
  { cause = '', isQuietBefore = true } = {},
): Pick<TruthCase, 'before' | 'verdict' | 'isUnseen' | 'isQuietBefore'> {
  return {
    ...healthy,
    verdict: `Announced, not checked: 198.18.${index}.1 and 2001:db8:${index}::1 via node1 and node2; no answer to a connection was seen lately. ${cause}Check it: herald check service ${name}/web.`,
    isUnseen: true,
    ...(isQuietBefore ? { isQuietBefore } : {}),
  };
}

async function filterOnRouters({ lab }: Scene, { index }: Place, isOn: boolean): Promise<void> {
  for (const tor of tors) {
    const families = ['ipv4', 'ipv6'].flatMap((family) => [
      `address-family ${family} unicast`,
      `${isOn ? '' : 'no '}neighbor NODES route-map FROM-NODES in`,
      'exit-address-family',
    ]);
    await lab
      .router(tor)
      .configure([
        `ip prefix-list OF-CASE seq 5 permit 198.18.${index}.0/24 le 32`,
        `ipv6 prefix-list OF-CASE-6 seq 5 permit 2001:db8:${index}::/48 le 128`,
        'route-map FROM-NODES deny 10',
        'match ip address prefix-list OF-CASE',
        'exit',
        'route-map FROM-NODES deny 20',
        'match ipv6 address prefix-list OF-CASE-6',
        'exit',
        'route-map FROM-NODES permit 30',
        'exit',
        `router bgp ${tor === 'tor1' ? 65_101 : 65_102}`,
        ...families,
      ]);
  }
}

/** Waits until the spine has no route to the addresses: nobody is to be answered after the mistake. */
async function untilUnknown({ lab }: Scene, place: Place): Promise<void> {
  const [ipv4, ipv6] = poolAddresses(place, 1);
  const has = async (query: string): Promise<boolean> =>
    ((await lab.router('spine').show<{ readonly paths?: readonly unknown[] }>(`show bgp ${query} json`)).paths ?? []).length > 0;
  await lab.until('the spine has no route', async (note) =>
    note([await has(`ipv4 unicast ${ipv4}/32`), await has(`ipv6 unicast ${ipv6}/128`)]).every((one) => !one),
  );
}

async function blackhole({ lab }: Scene, place: Place, change: 'add' | 'del'): Promise<void> {
  const [ipv4, ipv6] = poolAddresses(place, 1);
  for (const tor of tors)
    await lab.machine(tor).ip(`route ${change} blackhole ${ipv4}/32`, `route ${change} blackhole ${ipv6}/128 metric 1`);
}
