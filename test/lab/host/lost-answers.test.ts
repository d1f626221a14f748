import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { clients, clusterIPs, connect, endpoints, families, pod, podBehindNode } from './pod-behind-node.ts';
import type { Report, TwoNodes } from './two-nodes.ts';

let lab: TwoNodes;

beforeAll(async () => {
  lab = await podBehindNode();
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

/** Sends first packets of connections from addresses of a network that completes none, as a flood does. */
async function flood(): Promise<void> {
  const program = `const net = require('node:net');
    for (let i = 1; i < 60; i++) net.connect({ port: 80, host: '${clusterIPs[4]}', localAddress: '10.8.0.' + i }).on('error', () => {});
    setTimeout(() => process.exit(), 1500);`;
  await lab.exec('client', [process.execPath, '-e', program]);
}

const flag = (family: 4 | 6): string => (family === 6 ? '-6 ' : '');
const ipOf = (family: 4 | 6): string => `ip ${flag(family)}`.trim();

const elsewhere = (name: string) => families.map((family) => ({ clients: clients[family].network, interface: name, uplinks: 'uplink' }));

const failing = ({ checks }: Report): unknown[] =>
  (checks?.failing ?? []).map(({ family, areAll, reason }) => [family, areAll, reason.code, reason.details]);

/** Lets clients connect until the report is as wanted. */
const untilFailing = (
  what: string,
  isWanted: (found: unknown[]) => boolean,
  send = (): Promise<unknown> => connect(lab),
): Promise<unknown[]> =>
  until(
    what,
    async (note) => {
      await send();
      const found = failing(note(await lab.report('node1')));
      return isWanted(found) ? found : undefined;
    },
    90_000,
  );

describe('the agent of a node', () => {
  test('says that clients are answered while the default route leads back to them', async () => {
    await until('both families are answered', async (note) => {
      await connect(lab);
      return note(await lab.report('node1')).checks?.answered.length === 2;
    });
    expect(failing(await lab.report('node1'))).toEqual([]);
  });

  test.each(
    [
      {
        mistake: 'a bridge whose network covers the clients',
        make: [
          'link add docker0 type bridge',
          'link add port0 type veth peer name port1',
          'link set port0 master docker0 up',
          'link set port1 up',
          'link set docker0 up',
          'addr add 10.9.0.1/24 dev docker0',
          'addr add fd09::1/64 dev docker0 nodad',
        ],
        mend: ['link del docker0', 'link del port0'],
        details: elsewhere('docker0'),
      },
      {
        mistake: 'an unreachable route',
        make: families.map((family) => `route add unreachable ${clients[family].network}`),
        details: families.map((family) => ({
          route: `route unreachable ${clients[family].network}`,
          remedy: `${ipOf(family)} route del unreachable ${clients[family].network}`,
        })),
      },
      {
        mistake: 'a rule of a VPN that takes everything but its own packets, as of wg-quick',
        make: [
          // An interface that asks for no machine on its link, as that of a tunnel.
          'link add vpn0 type veth peer name vpn1',
          'link set vpn1 up',
          'link set vpn0 arp off up',
          ...families.flatMap((family) => [
            `${flag(family)}route add default dev vpn0 table 51820`,
            `${flag(family)}rule add pref 32764 lookup main suppress_prefixlength 0`,
            `${flag(family)}rule add pref 32765 not fwmark 51820 lookup 51820`,
          ]),
        ],
        mend: families.map((family) => `${flag(family)}rule add pref 32764 from ${pod[family]} lookup main`),
        after: [
          ...families.flatMap((family) => [
            `${flag(family)}rule del pref 32764 from ${pod[family]} lookup main`,
            `${flag(family)}rule del pref 32764`,
            `${flag(family)}rule del pref 32765`,
          ]),
          'link del vpn0',
        ],
        details: families.map((family) => ({
          clients: family === 4 ? '0.0.0.0/0' : '::/0',
          interface: 'vpn0',
          uplinks: 'uplink',
          rule: '32765 (not from all fwmark 0xca6c lookup 51820)',
          table: '51820',
          preference: 32_765,
        })),
      },
      {
        mistake: 'a rule that refuses answers',
        isFull: true,
        make: families.map((family) => `${flag(family)}rule add pref 100 from ${pod[family]} to ${clients[family].network} prohibit`),
        details: families.map((family) => ({
          route: `rule 100 (from ${pod[family]} to ${clients[family].network} prohibit)`,
          remedy: `${ipOf(family)} rule del pref 100`,
        })),
      },
      {
        mistake: "a blackhole in a table of the pods' own",
        make: families.flatMap((family) => [
          `${flag(family)}route add blackhole default table 77`,
          `${flag(family)}rule add pref 100 iif cali1 lookup 77`,
        ]),
        after: families.map((family) => `${flag(family)}rule del pref 100`),
        details: families.map((family) => {
          const all = family === 4 ? '0.0.0.0/0' : '::/0';
          return {
            route: `route blackhole ${all} of table 77, to which rule 100 (from all iif cali1 lookup 77) leads`,
            remedy: `${ipOf(family)} route del blackhole ${all} table 77`,
          };
        }),
      },
      {
        mistake: 'a route by another gateway',
        isFull: true,
        make: ['route add 10.9.0.0/24 via 10.72.0.2', 'route add fd09::/64 via fd72::2'],
        mend: ['route del 10.9.0.0/24', 'route del fd09::/64'],
        details: elsewhere('cali1'),
      },
    ].filter(({ isFull }) => isFull !== true || process.env['TIER'] === 'full'),
  )('names $mistake, and takes it back when it is mended', async ({ make, mend, after = [], details }) => {
    for (const line of make) await lab.exec('node1', ['ip', ...line.split(' ')]);
    const found = await untilFailing(
      'both families fail',
      (seen) => seen.length === 2 && JSON.stringify(seen).match(/EndpointAnswersLost/g)?.length === 2,
    );
    expect(found).toEqual(
      families.map((family, at) => [
        `IPv${family}`,
        true,
        'EndpointAnswersLost',
        { node: 'node1', endpoints: endpoints[family], ...details[at] },
      ]),
    );
    // Without other commands, those that the report prints.
    const printed = details.map((one) => ('remedy' in one ? one.remedy.replace('ip ', '') : ''));
    for (const line of mend ?? printed) await lab.exec('node1', ['ip', ...line.split(' ')]);
    await untilFailing('both are answered', (seen) => seen.length === 0);
    for (const line of after) await lab.exec('node1', ['ip', ...line.split(' ')]);
  });

  test('claims no loss when forged clients do not complete connections', async () => {
    await lab.exec('client', ['ip', 'route', 'add', 'local', '10.8.0.0/24', 'dev', 'lo']);
    const drops = 'table ip drops { chain i { type filter hook input priority 0; ip daddr 10.8.0.0/24 drop; }; }';
    await lab.exec('client', ['nft', '-f', '-'], { input: drops });
    const found = await untilFailing('the flood is seen', (seen) => seen.length > 0, flood);
    expect(found).toEqual([['IPv4', false, 'ClientsDoNotComplete', { node: 'node1', endpoints: '10.72.0.2:8080' }]]);
  });
});
