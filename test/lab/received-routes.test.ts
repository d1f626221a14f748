import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { nextHops } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * A node without a default route of its own: it has the default routes that two ToRs (FRR) announce, in both families. The intervals of BFD
 * are so long that a process that is suspended for seconds ends no session. With `BFD_INTERVAL=100` the test prints the time that 100 ms x 3
 * take.
 */
const interval = Number(process.env['BFD_INTERVAL'] ?? 2_000);
const families = [4, 6] as const;
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

const imports = `import: { prefixes: [
  { prefix: 0.0.0.0/0 }, { prefix: "::/0" }, { prefix: 10.77.0.0/16, le: 24 }, { prefix: 10.244.0.0/16, le: 32 } ] }`;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }], nodes: 1, bfd: interval }));
  for (const family of families) await lab.node('node1').exec(['ip', `-${family}`, 'route', 'del', 'default']);
  for (const tor of ['tor1', 'tor2']) {
    const asn = tor === 'tor1' ? 65_101 : 65_102;
    await lab
      .router(tor)
      .configure([
        `router bgp ${asn}`,
        'bgp graceful-restart',
        'bgp graceful-restart preserve-fw-state',
        'address-family ipv4 unicast',
        'no neighbor NODES route-map NOTHING out',
        'neighbor NODES default-originate',
        'network 10.77.1.0/24',
        ...(tor === 'tor1' ? ['network 10.244.2.0/24'] : []),
        'exit-address-family',
        'address-family ipv6 unicast',
        'no neighbor NODES route-map NOTHING out',
        'neighbor NODES default-originate',
      ]);
  }
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('20-herald.yaml', (text) =>
    text.replaceAll(
      'holdTime: 3s, keepaliveTime: 1s, connectTime: 1s',
      `holdTime: 90s, connectTime: 1s, bfdProfile: lab, enableGracefulRestart: true, ${imports}`,
    ),
  );
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/^.*nodeName: node[23].*\n/gm, ''));
  await herald.write(
    '21-bfd.yaml',
    `apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: lab }
spec: { transmitInterval: ${interval}, receiveInterval: ${interval}, detectMultiplier: 3 }
`,
  );
  await herald.start(['node1']);
  addresses = await herald.untilAssigned('shop/web', 2);
});

afterAll(async () => {
  await lab?.stop();
});

interface ListedRoute {
  readonly dst: string;
  readonly type?: string;
  readonly gateway?: string;
  readonly nexthops?: readonly { readonly gateway: string }[];
}

/** Returns the gateways of the kernel's routes in Herald's table by destination; "throw" for one that skips the table. */
async function table(family: 4 | 6): Promise<Record<string, readonly string[]>> {
  const { stdout } = await lab.node('node1').exec(['ip', '-j', `-${family}`, 'route', 'show', 'table', '153'], { check: false });
  const routes = JSON.parse(stdout.trim() === '' ? '[]' : stdout) as ListedRoute[];
  return Object.fromEntries(
    routes.map(({ dst, type, gateway, nexthops = [] }) => {
      const gateways = gateway === undefined ? nexthops.map((hop) => hop.gateway).toSorted() : [gateway];
      return [dst, type === undefined || type === 'unicast' ? gateways : [type]];
    }),
  );
}

async function ownRules(family: 4 | 6): Promise<string[]> {
  const { stdout } = await lab.node('node1').exec(['ip', '-N', `-${family}`, 'rule', 'show']);
  return stdout.split('\n').filter((line) => line.endsWith('proto 153'));
}

const gatewaysOf = (family: 4 | 6, tors: readonly number[]): string[] =>
  tors.map((tor) => (family === 4 ? `10.${tor}.0.1` : `fd00:${tor}::1`));

async function untilDefault(tors: readonly number[]): Promise<void> {
  for (const family of families) {
    await lab.until(`node1 has the default route of IPv${family} by ${tors.join(' and ')}`, async (note) => {
      return note((await table(family))['default'] ?? []).join() === gatewaysOf(family, tors).join();
    });
  }
}

/** `since` (milliseconds) excludes sessions that an earlier agent reported. */
async function untilBfdUp(since = 0): Promise<void> {
  await lab.until('BFD is up with both ToRs', async (note) => {
    const sessions = (await herald.sessions('node1')).filter(({ bfd }) => Date.parse(bfd?.since ?? '') >= since);
    const states = note(sessions.map(({ state, bfd }) => `${state} ${bfd?.state}`));
    return states.length === 4 && states.every((state) => state === 'Established Up');
  });
}

async function untilSpineUsesBoth(): Promise<void> {
  for (const address of addresses) {
    await lab.until(`the spine reaches ${address} by both ToRs`, async (note) => note(await nextHops(lab, 'spine', address)).length === 2);
  }
}

async function expectAllAnswer(): Promise<void> {
  for (const address of addresses) {
    const { errors } = await lab.client.tcp({ address, port: 80, count: 20, parallel: 4 });
    expect(errors, `tcp ${address}`).toEqual({});
  }
}

const live = (...command: readonly string[]) => herald.run(...command, '--source', herald.directory, '--socket', herald.socket('node1'));

test('both ToRs are next hops of the default route, which is in a table of its own', async () => {
  await untilDefault([1, 2]);
  for (const family of families) {
    const { stdout: main } = await lab.node('node1').exec(['ip', `-${family}`, 'route', 'show', 'table', 'main', 'default']);
    expect(main).toBe('');
    expect(await ownRules(family)).toEqual([
      expect.stringMatching(/^32160:\s+from all lookup 254 suppress_prefixlength 0 proto 153$/),
      expect.stringMatching(/^32161:\s+from all lookup 153 proto 153$/),
    ]);
  }
  await expectAllAnswer();
});

test('the sessions do not use a received route, and no route into the pods is taken', async () => {
  const routes = { ...(await table(4)), ...(await table(6)) };
  expect(routes).toEqual({
    default: gatewaysOf(6, [1, 2]),
    '10.77.1.0/24': gatewaysOf(4, [1, 2]),
    '10.1.0.1': ['throw'],
    '10.2.0.1': ['throw'],
    'fd00:1::1': ['throw'],
    'fd00:2::1': ['throw'],
  });
  const { stdout } = await lab.node('node1').exec(['ip', 'route', 'get', '10.1.0.1']);
  expect(stdout).not.toContain('table 153');
});

test('a client of the node reaches hosts through the received routes only', async () => {
  const { stdout } = await lab.node('node1').exec(['ip', 'route', 'get', '10.9.0.2']);
  expect(stdout).toMatch(/via 10\.[12]\.0\.1 dev tor[12] table 153/);
});

test('herald routes --received and explain peer show each route, and why one is not taken', async () => {
  const { stdout } = await live('routes', '--received', '-o', 'wide');
  expect(stdout).toMatch(/node1 +tor1-v4 +0\.0\.0\.0\/0 +10\.1\.0\.1 +installed/);
  expect(stdout).toMatch(/node1 +tor2-v6 +::\/0 +fd00:2::1 .*installed/);
  expect(stdout).toMatch(/node1 +tor1-v4 +10\.244\.2\.0\/24 +10\.1\.0\.1 +ReceivedRouteInsideCluster .*lies in 10\.244\.2\.0/);
  const explained = await live('explain', 'peer', 'tor1-v4');
  expect(explained.stdout).toContain('accepts 3 routes of the peer, 2 of them in the kernel');
  expect(explained.stdout).toMatch(/10\.244\.2\.0\/24 .*lies in 10\.244\.2\.0/);
});

describe('a ToR whose path breaks while the links stay up', () => {
  test('is no next hop any more after BFD went down, and requests are answered; prints the time', async () => {
    await untilBfdUp();
    const cut = performance.now();
    await lab.cut('node1', 'tor1');
    await untilDefault([2]);
    console.info(`one next hop ${Math.round(performance.now() - cut)} ms after the cut, at ${interval} ms x 3`);
    await lab.until('the agent reports that BFD is down', async (note) => {
      const sessions = (await herald.sessions('node1')).filter(({ peer }) => peer.startsWith('tor1'));
      return note(sessions.map(({ bfd }) => bfd?.state)).join() === 'Down,Down';
    });
    // The ToR notices for itself that its path to the node is broken.
    for (const address of addresses) {
      await lab.until(
        `the spine reaches ${address} by tor2 only`,
        async (note) => note(await nextHops(lab, 'spine', address)).length === 1,
      );
    }
    await expectAllAnswer();
  });

  test('is a next hop again when it is back', async () => {
    await lab.heal('node1', 'tor1');
    await untilDefault([1, 2]);
    await expectAllAnswer();
  });

  test('requests of a client fail for the detection time of BFD and no longer; the test prints the gaps', async () => {
    await untilBfdUp();
    await untilSpineUsesBoth();
    // The time to detect, and 3 s for a busy machine to act on it. The kernel sends a lost SYN again after a second: with a shorter timeout the
    // result of a request belongs to the time of its start.
    const allowed = 3 * interval + 3_000;
    const probes = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 20, timeoutMs: 800 }));
    await lab.until('both probes get answers', () => probes.every(({ outcomes }) => outcomes.filter(({ ok }) => ok).length >= 50));
    const cut = Date.now();
    await lab.cut('node1', 'tor1');
    await lab.until('no request has failed for 2 s', () => {
      const last = Math.max(...probes.map((probe) => probe.lastFailure?.at ?? Number.POSITIVE_INFINITY));
      return Date.now() - last > 2_000;
    });
    for (const [index, probe] of probes.entries()) {
      const { outcomes, failed, errors } = await probe.stop();
      const lastFailure = probe.lastFailure?.at ?? Number.POSITIVE_INFINITY;
      const recovered = Math.min(...outcomes.filter(({ ok, at }) => ok && at > lastFailure).map(({ at }) => at));
      console.info(
        `${addresses[index]}: all requests answered again ${Math.round(recovered - cut)} ms after the cut, at ${interval} ms x 3; ` +
          `${failed} of ${outcomes.length} failed ${JSON.stringify(errors)}`,
      );
      // Half of the flows used this ToR, so requests fail until both ends have noticed, and none before the cut.
      expect(failed).toBeGreaterThan(0);
      expect(outcomes.filter(({ ok, at }) => !ok && at < cut - 800)).toEqual([]);
      expect(recovered - cut).toBeLessThan(allowed);
    }
    await lab.heal('node1', 'tor1');
    await untilDefault([1, 2]);
  });
});

describe('a restart of the agent', () => {
  test('leaves the routes in the kernel while no agent runs, and the next agent keeps them', async () => {
    await untilBfdUp();
    const monitor = lab.node('node1').spawn(['ip', '-o', 'monitor', 'route'], { name: 'monitor-node1' });
    const probes = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 50, timeoutMs: 5_000 }));
    const killed = Date.now();
    herald.agent('node1').kill('SIGKILL');
    await herald.agent('node1').exited;
    for (const family of families) expect((await table(family))['default']).toEqual(gatewaysOf(family, [1, 2]));
    await herald.startAgent('node1').waitForLine(/agent started/);
    await untilBfdUp(killed);
    await untilDefault([1, 2]);
    await Promise.all(probes.map((probe) => probe.stop()));
    expect(monitor.lines().filter((line) => line.startsWith('Deleted') && line.includes('default'))).toEqual([]);
    monitor.kill('SIGTERM');
    await expectAllAnswer();
  });
});

/** Saves what `configure` has set, which a restart of bgpd would lose. */
async function keepConfiguration(name: string): Promise<void> {
  const tor = lab.router(name);
  await tor.exec(['vtysh', '-N', tor.namespace, '-c', 'write file']);
}

describe('a ToR whose bgpd is killed and comes back, with graceful restart', () => {
  test('with BFD, the node drops the ToR until it is back, because FRR 8 reports Down when bgpd dies', async () => {
    await untilBfdUp();
    await keepConfiguration('tor1');
    await lab.router('tor1').kill('bgpd');
    await untilDefault([2]);
    await lab.router('tor1').frr.start('bgpd');
    await untilDefault([1, 2]);
    await untilBfdUp();
  });

  test('without BFD, the node keeps the ToR as a next hop of its default route all the time', async () => {
    await herald.edit('20-herald.yaml', (text) => text.replaceAll('bfdProfile: lab, ', ''));
    // FRR 8 ends its session when BFD goes away, and soon has another one.
    let upSince = Number.POSITIVE_INFINITY;
    await lab.until('the sessions have been up for 2 s without BFD', async (note) => {
      const states = note((await herald.sessions('node1')).map(({ state, bfd }) => `${state} ${bfd?.state}`));
      const up = states.length === 4 && states.every((state) => state === 'Established undefined');
      upSince = up ? Math.min(upSince, Date.now()) : Number.POSITIVE_INFINITY;
      return Date.now() - upSince > 2_000;
    });
    await untilDefault([1, 2]);
    await keepConfiguration('tor1');
    const stale = async (): Promise<number> => {
      const { stdout } = await live('routes', '--received', '-o', 'json');
      return [...stdout.matchAll(/"stale": ?"restart"/g)].length;
    };
    const monitor = lab.node('node1').spawn(['ip', '-o', 'monitor', 'route'], { name: 'monitor-restart' });
    await lab.router('tor1').kill('bgpd');
    const killed = Date.now();
    await lab.until('the agent has the four routes of tor1 as stale', async (note) => note(await stale()) === 4);
    while (Date.now() - killed < 10_000) {
      for (const family of families) expect((await table(family))['default']).toEqual(gatewaysOf(family, [1, 2]));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await lab.router('tor1').frr.start('bgpd');
    await lab.until('tor1 has sent its routes again', async (note) => note(await stale()) === 0);
    await untilDefault([1, 2]);
    const { stdout } = await live('routes', '--received', '-o', 'wide');
    expect(stdout).toMatch(/node1 +tor1-v4 +0\.0\.0\.0\/0 +10\.1\.0\.1 +installed/);
    // No change at all: a next hop that goes and comes back would be two lines.
    expect(monitor.lines().filter((line) => line.includes('default'))).toEqual([]);
    monitor.kill('SIGTERM');
    await expectAllAnswer();
  });
});

test('without import the kernel has no route and no rule any more', async () => {
  await herald.edit('20-herald.yaml', (text) => text.replaceAll(`, ${imports}`, ''));
  await lab.until('the table is empty', async (note) => {
    return note([...Object.keys(await table(4)), ...Object.keys(await table(6))]).length === 0;
  });
  for (const family of families) {
    expect(await ownRules(family)).toEqual([]);
  }
});
