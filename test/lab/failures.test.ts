import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess } from './lab.ts';
import { establishedSessions, nextHops, untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'];
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilAllRoutes();
});

afterAll(async () => {
  await lab?.stop();
});

async function untilAllRoutes(via: readonly string[] = nodes): Promise<void> {
  for (const address of addresses) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address));
    await untilSpineRoutes(lab, address);
  }
}

async function expectAllAnswer(count = 40): Promise<void> {
  for (const address of addresses) {
    for (const protocol of ['tcp', 'udp'] as const) {
      const { errors } = await lab.client[protocol]({ address, port: 80, count, parallel: 4 });
      expect(errors, `${protocol} ${address}`).toEqual({});
    }
  }
}

/** Waits until the spine sends these addresses over one ToR only. */
async function untilOneNextHop(of: readonly string[]): Promise<void> {
  for (const address of of)
    await lab.until(`the spine has one next hop for ${address}`, async (note) => note(await nextHops(lab, 'spine', address)).length === 1);
}

/** Watches a router's kernel for deleted routes to the Service. */
function watchRemovals(router: string): { monitor: LabProcess; removed: () => string[] } {
  const monitor = lab.router(router).spawn(['ip', '-o', 'monitor', 'route'], { name: `monitor-${router}` });
  return {
    monitor,
    removed: () => monitor.lines().filter((line) => line.startsWith('Deleted') && addresses.some((address) => line.includes(address))),
  };
}

describe('a killed agent', () => {
  test('the ToRs drop its routes at once, and the other nodes serve', async () => {
    herald.agent('node1').kill('SIGKILL');
    await untilAllRoutes(['node2', 'node3']);
    await expectAllAnswer();
  });

  test('explain shows the age of its last report', async () => {
    expect(await herald.explain('shop/web')).toMatch(/Node node1 {2}\(reported \d+ s ago\)/);
  });

  test('its rules stay in the kernel while it is down', async () => {
    const { stdout } = await lab.node('node1').exec(['nft', 'list', 'table', 'ip', 'herald']);
    expect(stdout).toContain(addresses[0]);
  });

  test('the next agent adopts the rules without rewriting them, and announces again', async () => {
    const rules = async (): Promise<string> => {
      const { stdout } = await lab.node('node1').exec(['nft', '-a', 'list', 'table', 'ip', 'herald']);
      return (
        stdout
          .split('\n')
          // The table's own line names the program that owns the table at the moment.
          .filter((line) => line.includes('# handle') && !line.startsWith('table'))
          .join('\n')
      );
    };
    const before = await rules();
    await herald.startAgent('node1').waitForLine(/agent started/);
    await untilAllRoutes();
    expect(await rules()).toBe(before);
    await expectAllAnswer();
  });
});

describe('a killed BGP daemon on a ToR', () => {
  test('traffic uses the other ToR, and the agents report the lost sessions', async () => {
    await lab.router('tor1').kill('bgpd');
    await lab.until('node1 reports the loss', async (note) => {
      const sessions = note(await herald.sessions('node1'));
      return (
        sessions.filter(({ peer, state, lastError }) => peer.startsWith('tor1') && state !== 'Established' && lastError !== undefined)
          .length === 2
      );
    });
    await untilOneNextHop(addresses);
    await expectAllAnswer();
    const told = await herald.explain('shop/web');
    expect(told).toMatch(/is not announced to tor1-v4: .*the router 10\.1\.0\.1 .*(refuses|closed|reset)/);
    expect(told).toMatch(/is announced to tor2-v4/);
  });

  test('everything is announced again when the daemon is back', async () => {
    await lab.router('tor1').restart('bgpd');
    await lab.until(
      'all sessions of tor1 are up',
      async (note) => note((await establishedSessions(lab, 'tor1', 4)) + (await establishedSessions(lab, 'tor1', 6))) === 8,
    );
    await untilAllRoutes();
    await expectAllAnswer();
  });
});

describe('a manifest with a mistake', () => {
  const watchers: LabProcess[] = [];

  test('the last good version stays in force, and the mistake is reported by file, line and field', async () => {
    const { monitor, removed } = watchRemovals('tor1');
    watchers.push(monitor);
    await herald.edit('30-web.yaml', (text) =>
      text.replace('port: 80, targetPort: 8080, nodePort: 30080', 'port: 80000, targetPort: 8080, nodePort: 30080'),
    );
    const manifest = await readFile(join(herald.directory, '30-web.yaml'), 'utf8');
    const where = `30-web\\.yaml:${manifest.split('\n').findIndex((text) => text.includes('port: 80000')) + 1}:`;
    const line = await herald.controller.waitForLine(new RegExp(where));
    expect(line).toMatch(/Service\/shop\/web: spec\.ports\[0\]\.port: .*65535/);
    await herald.agent('node1').waitForLine(new RegExp(where));
    const explained = await herald.explain('shop/web').catch((error: unknown) => String(error));
    expect(explained).toMatch(new RegExp(`${where}.*spec\\.ports\\[0\\]\\.port`));
    await expectAllAnswer(10);
    expect(removed()).toEqual([]);
  });

  test('a file that is not valid YAML takes nothing down', async () => {
    await herald.edit('30-web.yaml', (text) => `${text}\n  bad: [indentation\n`);
    await herald.controller.waitForLine(/30-web\.yaml:\d+.*(YAML|closed|expected|flow)/i);
    await expectAllAnswer(10);
  });

  test('other files are still applied meanwhile', async () => {
    await herald.write(
      '70-other.yaml',
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: other }\nspec: { type: LoadBalancer, clusterIP: 10.96.0.70, ports: [{ port: 80 }] }\n',
    );
    await herald.untilAssigned('shop/other', 1);
    await herald.remove('70-other.yaml');
  });

  test('the corrected file is applied at once', async () => {
    await herald.edit('30-web.yaml', (text) => text.replace('\n  bad: [indentation\n', '').replace('port: 80000', 'port: 8081'));
    /** Sends enough requests that every node gets some. */
    const untilAnswers = async (port: number): Promise<void> => {
      for (const address of addresses) {
        await lab.until(`${address} answers at port ${port}`, async (note) => {
          return note(await lab.client.tcp({ address, port, count: 60, parallel: 20, timeoutMs: 3000 })).failed === 0;
        });
      }
    };
    await untilAnswers(8081);
    await herald.edit('30-web.yaml', (text) => text.replace('port: 8081', 'port: 80'));
    await untilAnswers(80);
    for (const watcher of watchers) await watcher.stop();
  });
});

describe('a full pool', () => {
  const small = (name: string, last: number): string => `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name}, annotations: { herald.dev/address-pool: tiny } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.${last}, ports: [{ port: 80, targetPort: 8080 }] }
`;

  test('the waiting Service has condition PoolFull, and explain names the pool and the fix', async () => {
    await herald.write('60-first.yaml', small('first', 60));
    expect(await herald.untilAssigned('shop/first', 1)).toEqual(['203.0.113.1']);
    await herald.write('61-second.yaml', small('second', 61));
    const condition = await herald.untilCondition('shop/second', 'AddressAssigned', 'False');
    const verdict =
      /^Not served: pool tiny is full \(1 of 1 IPv4 addresses\)\. Add addresses to IPAddressPool tiny, or release shop\/first\.$/;
    expect(condition).toMatchObject({ reason: 'PoolFull', message: expect.stringMatching(verdict) });
    expect(await herald.explain('shop/second')).toMatch(new RegExp(verdict, 'm'));
  });

  test('the Service gets an address when the pool grows, and no other address moves', async () => {
    await herald.edit('20-herald.yaml', (text) => text.replace('203.0.113.1-203.0.113.1', '203.0.113.0-203.0.113.1'));
    expect(await herald.untilAssigned('shop/second', 1)).toEqual(['203.0.113.0']);
    expect((await herald.service('shop', 'first')).addresses).toEqual(['203.0.113.1']);
    expect((await herald.service('shop', 'web')).addresses).toEqual(addresses);
  });
});

describe('a peer with the wrong AS number', () => {
  test('the error names both AS numbers, and the other sessions stay up', async () => {
    await herald.edit('20-herald.yaml', (text) =>
      text.replace('peerASN: 65101, peerAddress: 10.1.0.1', 'peerASN: 65999, peerAddress: 10.1.0.1'),
    );
    await lab.until('node2 reports the mismatch', async (note) => {
      const session = note(await herald.sessions('node2')).find(({ peer }) => peer === 'tor1-v4');
      return session?.state !== 'Established' && /65101/.test(session?.lastError ?? '') && /65999/.test(session?.lastError ?? '');
    });
    // Each node ends its session once it has read the file.
    await untilOneNextHop(addresses.filter((address) => !address.includes(':')));
    const others = (await herald.sessions('node2')).filter(({ peer }) => peer !== 'tor1-v4');
    expect(others.map(({ state }) => state)).toEqual(['Established', 'Established', 'Established']);
    expect(await herald.explain('shop/web')).toMatch(
      /to tor1-v4: BGPPeer "tor1-v4" has spec\.peerASN: 65999, but the router 10\.1\.0\.1 says AS 65101/,
    );
    await expectAllAnswer(10);
  });

  test('the corrected number brings the session and its routes back', async () => {
    await herald.edit('20-herald.yaml', (text) => text.replace('peerASN: 65999', 'peerASN: 65101'));
    await untilAllRoutes();
  });
});

describe('a killed controller', () => {
  test('no route is withdrawn and no address moves, neither before nor after the restart', async () => {
    const watched = tors.map(watchRemovals);
    herald.controller.kill('SIGKILL');
    await herald.controller.exited;
    await expectAllAnswer();
    await herald.write(
      '71-waiting.yaml',
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: waiting }\nspec: { type: LoadBalancer, clusterIP: 10.96.0.71, ports: [{ port: 80 }] }\n',
    );
    await herald.startController().waitForLine(/controller started/);
    await herald.untilAssigned('shop/waiting', 1);
    expect((await herald.service('shop', 'web')).addresses).toEqual(addresses);
    await expectAllAnswer();
    for (const { monitor, removed } of watched) {
      expect(removed()).toEqual([]);
      await monitor.stop();
    }
  });

  test('a second controller on the same directory is refused, with the process that works there', async () => {
    const { code, stderr } = await herald.run('controller', '--source', herald.directory);
    expect(code).toBe(1);
    expect(stderr).toContain(`process ${herald.controller.pid}`);
  });
});
