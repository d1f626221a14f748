import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { examples, type HeraldInLab } from '../herald.ts';
import type { Lab, Report } from '../lab.ts';
import { establishedSessions, untilNextHops, untilSpineRoutes, viaNodes } from '../routes.ts';
import { ownerIsCutOff } from './office.ts';
import type { Reporter } from './reporter.ts';

export interface Scene {
  readonly lab: Lab;
  readonly herald: HeraldInLab;
  readonly reporter: Reporter;
}

export interface Chapter {
  readonly title: string;
  readonly play: (scene: Scene) => Promise<void>;
}

const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'] as const;
const clientAddresses = new Set(['10.9.0.2', 'fd00:9::2']);

export const chapters: readonly Chapter[] = [
  { title: 'One controller and three agents start; sessions come up', play: sessionsComeUp },
  { title: 'A Service of type LoadBalancer appears', play: serviceAppears },
  { title: 'The client sends requests to it', play: clientReachesPods },
  { title: 'externalTrafficPolicy: Local keeps the client address', play: localPolicy },
  { title: 'A ClusterIP and an external IP are reachable from outside', play: otherAddresses },
  { title: 'A node is cut off silently', play: nodeIsCutOff },
  { title: 'Layer 2: the node that answers ARP for an address is cut off silently', play: ownerIsCutOff },
  { title: 'Herald explains why something is not possible', play: addressRefused },
  { title: 'An agent is stopped and withdraws its routes', play: agentStops },
];

async function sessionsComeUp({ lab, herald, reporter }: Scene): Promise<void> {
  const begun = performance.now();
  await herald.start(nodes);
  for (const tor of tors) {
    // Each switch also has a session with the spine, in both families.
    for (const family of [4, 6] as const) {
      await lab.until(
        `${tor} has all IPv${family} sessions`,
        async (note) => note(await establishedSessions(lab, tor, family)) === nodes.length + 1,
      );
    }
  }
  const milliseconds = Math.round(performance.now() - begun);
  reporter.check(
    'both switches have an IPv4 and an IPv6 session with each node',
    true,
    `${milliseconds} ms after the processes were started`,
    {
      milliseconds,
    },
  );
}

async function serviceAppears({ lab, herald, reporter }: Scene): Promise<void> {
  const begun = performance.now();
  await herald.write('30-web.yaml', await readFile(join(examples, '30-web.yaml'), 'utf8'));
  const addresses = await herald.untilAssigned('shop/web', 2);
  reporter.check('the Service gets an address of each family', addresses.length === 2, `${addresses.join(', ')} after ${since(begun)} ms`);
  for (const address of addresses) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
    reporter.check(`both switches route ${address} to all three nodes (ECMP)`, true, `in the kernel after ${since(begun)} ms`);
    await untilSpineRoutes(lab, address);
  }
  const { conditions } = await lab.until('the Service is announced', async (note) => {
    const service = note(await herald.service('shop', 'web'));
    return service.conditions['Announced']?.status === 'True' && service.conditions['Programmed']?.status === 'True' ? service : undefined;
  });
  const states = Object.entries(conditions).map(([type, { status }]) => `${type}=${status}`);
  reporter.check('the conditions of the Service are True', true, states.join(' '));
}

async function clientReachesPods({ lab, herald, reporter }: Scene): Promise<void> {
  for (const address of (await herald.service('shop', 'web')).addresses) {
    for (const protocol of ['tcp', 'udp'] as const) {
      const report = await lab.client[protocol]({ address, port: 80, count: 60, parallel: 4 });
      reporter.check(
        `60 ${protocol.toUpperCase()} requests to ${address} reach all three pods`,
        report.failed === 0 && podsOf(report) === 3,
        spread(report),
      );
    }
  }
}

async function localPolicy({ lab, herald, reporter }: Scene): Promise<void> {
  await herald.write('40-ledger.yaml', await readFile(join(examples, '40-ledger.yaml'), 'utf8'));
  for (const address of await herald.untilAssigned('shop/ledger', 2)) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1', 'node2'], address));
    reporter.check(`both switches route ${address} only to the two nodes with a pod`, true, '');
    await untilSpineRoutes(lab, address);
    const report = await lab.client.tcp({ address, port: 80, count: 40, parallel: 4 });
    const kept = report.clients.length === 1 && clientAddresses.has(report.clients[0] ?? '');
    reporter.check(
      "the pods see the client's own address",
      report.failed === 0 && kept && podsOf(report) === 2,
      `${report.clients.join(', ')}; ${spread(report)}`,
    );
  }
  const [web] = (await herald.service('shop', 'web')).addresses;
  const report = await lab.client.tcp({ address: web ?? '', port: 80, count: 10 });
  reporter.say(`for comparison, with externalTrafficPolicy: Cluster the pods see ${report.clients.join(', ')}`);
}

async function otherAddresses({ lab, herald, reporter }: Scene): Promise<void> {
  for (const [what, address] of [
    ['ClusterIP', '10.96.0.10'],
    ['ClusterIP', 'fd00:96::10'],
    ['external IP', '192.0.2.10'],
    ['external IP', '2001:db8:2::10'],
  ] as const) {
    await untilSpineRoutes(lab, address);
    const report = await lab.client.tcp({ address, port: 80, count: 20, parallel: 4 });
    reporter.check(`${what} ${address} is announced and reachable`, report.failed === 0, spread(report));
  }
  const web = await herald.read('30-web.yaml');
  const guest = web
    .replaceAll('namespace: shop', 'namespace: guest')
    .replaceAll('10.96.0.10', '10.96.0.30')
    .replaceAll('fd00:96::10', 'fd00:96::30');
  await herald.write(
    '50-guest.yaml',
    guest
      .replaceAll('192.0.2.10', '192.0.2.11')
      .replaceAll('2001:db8:2::10', '2001:db8:2::11')
      .replaceAll('nodePort: 30080', 'nodePort: 30081'),
  );
  await herald.untilAssigned('guest/web', 2);
  const { errors, failed, outcomes } = await lab.client.tcp({ address: '192.0.2.11', port: 80, count: 1, timeoutMs: 500 });
  reporter.check('an external IP that no policy allows is not reachable', failed === outcomes.length, Object.keys(errors).join(', '));
  const because = (await herald.explain('guest/web')).split('\n').find((line) => line.includes('192.0.2.11 (ExternalIP)'));
  reporter.quote([because?.trim() ?? 'nothing']);
  await herald.remove('50-guest.yaml');
}

async function nodeIsCutOff({ lab, herald, reporter }: Scene): Promise<void> {
  const [address = ''] = (await herald.service('shop', 'web')).addresses;
  const probe = lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 20, timeoutMs: 1_000 });
  try {
    await lab.until('the probe succeeds', () => probe.outcomes.length > 10);
    const cut = performance.now();
    const cutAt = Date.now();
    await lab.cut('node3');
    reporter.say('node3 drops every frame: no link goes down and no peer gets a message');
    const rest = (tor: string): string[] => viaNodes(tor, ['node1', 'node2'], address);
    await Promise.all(tors.map((tor) => untilNextHops(lab, tor, address, rest(tor))));
    const routeGone = since(cut);
    reporter.check('both switches stop sending to node3', true, `route gone after ${routeGone} ms (hold time 3 s)`, { routeGone });
    // This edit does what a node controller does when a node has not reported for 40 s.
    await herald.edit('30-web.yaml', (text) => text.replaceAll(/(nodeName: node3, conditions: \{ ready: )true/g, '$1false'));
    const quietMilliseconds = 3000;
    await lab.until(
      `no request failed for ${quietMilliseconds} ms`,
      () =>
        Date.now() - Math.max(cutAt, probe.lastFailure === undefined ? 0 : probe.lastFailure.at + probe.lastFailure.milliseconds) >
        quietMilliseconds,
    );
    const lastFailure = probe.lastFailure;
    const healed = lastFailure === undefined ? 0 : Math.round(lastFailure.at + lastFailure.milliseconds - cutAt);
    const { outcomes } = await probe.stop();
    const lost = outcomes.filter(({ ok }) => !ok).length;
    reporter.check('every request succeeds again', true, `after ${healed} ms; ${lost} of ${outcomes.length} requests were lost meanwhile`, {
      healed,
      lost,
    });
  } finally {
    await probe.stop();
  }
  await lab.heal('node3');
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/(nodeName: node3, conditions: \{ ready: )false/g, '$1true'));
  for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
  reporter.check('node3 is healed and gets its share again', true, '');
}

async function addressRefused({ lab, herald, reporter }: Scene): Promise<void> {
  const service = (name: string, last: number): string => `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name}, annotations: { herald.dev/address-pool: tiny } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.${last}, ports: [{ port: 80, targetPort: 8080 }] }
`;
  await herald.write('60-first.yaml', service('first', 40));
  await herald.untilAssigned('shop/first', 1);
  await herald.write('61-second.yaml', service('second', 41));
  const { conditions } = await lab.until('the second Service is refused', async (note) => {
    const second = note(await herald.service('shop', 'second'));
    return second.conditions['AddressAssigned']?.status === 'False' ? second : undefined;
  });
  const condition = conditions['AddressAssigned'];
  reporter.check('a pool with one address cannot serve two Services', true, `condition: ${condition?.reason}`);
  const text = await herald.explain('shop/second');
  reporter.quote(text.trimEnd().split('\n').slice(0, 9));
  reporter.check('explain names the pool and the fix', /pool tiny/.test(text) && /fix: /.test(text), '');
  reporter.check('its first line is the message of the condition', text.split('\n')[0] === condition?.message, '');
  await herald.remove('60-first.yaml');
  const freed = await herald.untilAssigned('shop/second', 1);
  reporter.check('the waiting Service gets the address when the first one is deleted', freed[0] === '203.0.113.1', freed.join());
}

async function agentStops({ lab, herald, reporter }: Scene): Promise<void> {
  const [address = ''] = (await herald.service('shop', 'web')).addresses;
  const begun = performance.now();
  const { code } = await herald.agent('node1').stop(60_000);
  for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node2', 'node3'], address));
  reporter.check(
    'the agent withdraws its routes on SIGTERM and exits with status 0',
    code === 0,
    `routes gone ${since(begun)} ms after the signal`,
  );
  const report = await lab.client.tcp({ address, port: 80, count: 40, parallel: 4 });
  reporter.check('no request is lost', report.failed === 0, spread(report));
}

function since(begun: number): number {
  return Math.round(performance.now() - begun);
}

function podsOf({ pods }: Report): number {
  return Object.keys(pods).length;
}

function spread({ pods, errors }: Report): string {
  return Object.entries({ ...pods, ...errors })
    .map(([who, count]) => `${who} ${count}`)
    .join(', ');
}
