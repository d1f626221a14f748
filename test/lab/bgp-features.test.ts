import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess } from './lab.ts';
import type { Note } from './until.ts';
import { RouteWatch } from './route-watch.ts';
import { bestPath, nextHops, untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/** One node, so that every packet depends on what the switches have of it. */
const nodeAddress = { tor1: { 4: '10.1.0.11', 6: 'fd00:1::11' }, tor2: { 4: '10.2.0.11', 6: 'fd00:2::11' } } as const;
const torAsn = { tor1: 65_101, tor2: 65_102 } as const;
const tors = ['tor1', 'tor2'] as const;
type Tor = (typeof tors)[number];

let lab: Lab;
let herald: HeraldInLab;
let agent: LabProcess;
let addresses: readonly string[];
let manifest: string;
const watchers: LabProcess[] = [];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: 1, pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  manifest = await herald.read('20-herald.yaml');
  // Neighbours by name instead of by prefix: a switch that is to call the node must know it.
  for (const tor of tors) {
    await lab
      .router(tor)
      .configure([
        `router bgp ${torAsn[tor]}`,
        ...[nodeAddress[tor][4], nodeAddress[tor][6]].flatMap((address) => [
          `neighbor ${address} remote-as 64512`,
          `neighbor ${address} timers 3 9`,
          `neighbor ${address} timers connect 1`,
        ]),
        'address-family ipv4 unicast',
        `neighbor ${nodeAddress[tor][4]} activate`,
        'exit-address-family',
        'address-family ipv6 unicast',
        `neighbor ${nodeAddress[tor][6]} activate`,
        'exit-address-family',
      ]);
  }
  await herald.start(['node1']);
  agent = herald.agent('node1');
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilRoutes();
});

afterEach(async () => {
  for (const watcher of watchers.splice(0)) await watcher.stop();
});

afterAll(async () => {
  await lab?.stop();
});

/** The manifest as it was, with more in the spec of every BGPPeer that is named. */
async function peersWith(fields: string, which: RegExp = /tor\d-v\d/): Promise<void> {
  const documents = manifest.split('\n---\n').map((document) => {
    const peer = document.includes('kind: BGPPeer') && which.test(document);
    return peer ? document.replace('spec: { ', `spec: { ${fields}, `) : document;
  });
  await herald.write('20-herald.yaml', documents.join('\n---\n'));
}

async function untilRoutes(of: readonly Tor[] = tors): Promise<void> {
  for (const address of addresses) {
    for (const tor of of) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address), 90_000);
    if (of.length === tors.length) await untilSpineRoutes(lab, address);
  }
}

/** A session that failed a few times makes longer pauses. */
async function untilEstablished(peer: string): Promise<void> {
  const established = async (note: Note): Promise<boolean> => {
    return note(await herald.sessions('node1')).find((candidate) => candidate.peer === peer)?.state === 'Established';
  };
  await lab.until(`${peer} is Established`, established, 90_000);
}

/** The switch does not send to the node any more; perhaps it knows another way, through the spine and the other switch. */
async function untilGone(tor: Tor): Promise<void> {
  for (const address of addresses) {
    const [direct = ''] = viaNodes(tor, ['node1'], address);
    await lab.until(`${tor} does not route ${address} to node1`, async (note) => !note(await nextHops(lab, tor, address)).includes(direct));
  }
}

interface Neighbor {
  readonly bgpState: string;
  readonly portForeign?: number;
  readonly gracefulRestartInfo?: object;
}

async function neighbor(tor: Tor, family: 4 | 6): Promise<Neighbor | undefined> {
  const address = nodeAddress[tor][family];
  return (await lab.router(tor).show<Record<string, Neighbor>>(`show bgp neighbors ${address} json`))[address];
}

/** Routes alone do not tell: with graceful restart they are there before the session is. */
async function untilSessions(): Promise<void> {
  for (const tor of tors) {
    for (const family of [4, 6] as const) {
      await lab.until(`${tor} has the session`, async (note) => note(await neighbor(tor, family))?.bgpState === 'Established');
    }
  }
}

async function listens(): Promise<boolean> {
  const { stdout } = await lab.node('node1').exec(['ss', '-Hltn', 'sport = :179']);
  return stdout.trim() !== '';
}

async function restartAgent(): Promise<void> {
  agent = herald.startAgent('node1');
  await agent.waitForLine(/agent started/);
}

describe('a passive peer', () => {
  test('is called by the switch, and the node listens for as long as there is one', async () => {
    expect(await listens()).toBe(false);
    await peersWith('passive: true', /tor1-v/);
    for (const family of [4, 6] as const) {
      await lab.until('tor1 has called the node', async (note) => {
        const found = note(await neighbor('tor1', family));
        return found?.bgpState === 'Established' && found.portForeign === 179;
      });
    }
    expect(await listens()).toBe(true);
    await untilRoutes();
    await herald.write('20-herald.yaml', manifest);
    await lab.until('nobody listens any more', async (note) => !note(await listens()));
    await untilRoutes();
  });
});

describe('a passive peer with a password', () => {
  const password = (line: string): Promise<void> => lab.router('tor1').configure([`router bgp ${torAsn.tor1}`, line]);

  test('is let in with it, and not without', async () => {
    await peersWith('passive: true, password: "right"', /tor1-v4/);
    await lab.until('the node drops segments without a signature', async (note) => {
      const { stdout } = await lab.node('node1').exec(['nstat', '-asz', 'TcpExtTCPMD5NotFound']);
      return Number(/TCPMD5NotFound +(\d+)/.exec(note(stdout))?.[1]) > 0;
    });
    expect((await neighbor('tor1', 4))?.bgpState).not.toBe('Established');
    await password(`neighbor ${nodeAddress.tor1[4]} password right`);
    await untilEstablished('tor1-v4');
    await password(`no neighbor ${nodeAddress.tor1[4]} password`);
    await herald.write('20-herald.yaml', manifest);
    await untilRoutes();
  });
});

describe('localASN', () => {
  test('is the only number of ours that the peer sees', async () => {
    const remoteAs = (asn: number): Promise<void> =>
      lab.router('tor1').configure([`router bgp ${torAsn.tor1}`, `neighbor ${nodeAddress.tor1[4]} remote-as ${asn}`]);
    await remoteAs(64_999);
    await peersWith('localASN: 64999', /tor1-v4/);
    await untilEstablished('tor1-v4');
    const [address = ''] = addresses;
    await lab.until('tor1 has the route', async (note) => note(await bestPath(lab, 'tor1', address))?.asPath === '64999');
    await remoteAs(64_512);
    await herald.write('20-herald.yaml', manifest);
    await untilRoutes();
  });
});

describe('TTL security', () => {
  test('without it at the switch the session does not come up, and what the switch sends is dropped', async () => {
    await peersWith('ttlSecurityHops: 1', /tor1-v4/);
    // The kernel of the node drops what the switch sends, whatever the state of the session is by then.
    await lab.until('the node drops segments', async (note) => {
      const { stdout } = await lab.node('node1').exec(['nstat', '-asz', 'TcpExtTCPMinTTLDrop']);
      return Number(/TCPMinTTLDrop +(\d+)/.exec(note(stdout))?.[1]) > 0;
    });
    await lab.until('neither end has the session', async (note) => {
      const ours = (await herald.sessions('node1')).find(({ peer }) => peer === 'tor1-v4');
      const states = note([ours?.state, (await neighbor('tor1', 4))?.bgpState]);
      return !states.includes('Established');
    });
    await untilEstablished('tor2-v4');
    await herald.write('20-herald.yaml', manifest);
    await untilEstablished('tor1-v4');
  });

  test.each([
    ['the node calls', 'ttlSecurityHops: 1'],
    ['the switch calls', 'ttlSecurityHops: 1, passive: true'],
  ])('with it at both ends the session is up: %s', async (_, fields) => {
    await lab
      .router('tor1')
      .configure([
        `router bgp ${torAsn.tor1}`,
        ...[4, 6].map((family) => `neighbor ${nodeAddress.tor1[family as 4 | 6]} ttl-security hops 1`),
      ]);
    await peersWith(fields, /tor1-v/);
    await untilEstablished('tor1-v4');
    await untilEstablished('tor1-v6');
    await untilRoutes();
  });

  test('without it at the node the session goes down', async () => {
    await herald.write('20-herald.yaml', manifest);
    await lab.until('tor1 hears nothing', async (note) => note((await neighbor('tor1', 4))?.bgpState) !== 'Established');
    await lab
      .router('tor1')
      .configure([
        `router bgp ${torAsn.tor1}`,
        ...[4, 6].map((family) => `no neighbor ${nodeAddress.tor1[family as 4 | 6]} ttl-security hops 1`),
      ]);
    await untilRoutes();
  });

  test('beside ebgpMultiHop it is refused, and the session runs on', async () => {
    await peersWith('ttlSecurityHops: 1, ebgpMultiHop: true', /tor1-v4/);
    await agent.waitForLine(/BGPPeer\/tor1-v4: spec.ttlSecurityHops: must not be set together with ebgpMultiHop/);
    await untilEstablished('tor1-v4');
    await herald.write('20-herald.yaml', manifest);
  });
});

describe('graceful restart', () => {
  function connections(): LabProcess[] {
    const program = `${import.meta.dirname}/steady-connection.ts`;
    const steady = addresses.map((address) =>
      lab.machine('client').spawn([process.execPath, program, address, '80'], { name: `steady-${address.includes(':') ? 6 : 4}` }),
    );
    watchers.push(...steady);
    return steady;
  }

  async function expectNothingHappened(stop: () => Promise<void>): Promise<void> {
    const steady = connections();
    for (const connection of steady) await connection.waitForLine(/answered/);
    const watch = await RouteWatch.start(lab, tors, addresses);
    const probes = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, timeoutMs: 20_000, intervalMs: 50 }));
    await stop();
    for (const tor of tors) {
      for (const family of [4, 6] as const) {
        await lab.until(`${tor} has lost the session`, async (note) => note(await neighbor(tor, family))?.bgpState !== 'Established');
      }
    }
    await restartAgent();
    for (const tor of tors) {
      for (const family of [4, 6] as const) {
        await lab.until(`${tor} has the session again`, async (note) => note(await neighbor(tor, family))?.bgpState === 'Established');
        // What was kept and is not repeated goes with End-of-RIB, and not before.
        await lab.until(`${tor} has no stale routes`, async (note) => {
          const { routes } = await lab.router(tor).show<{ routes: object }>(`show bgp ipv${family} unicast json`);
          return !note(JSON.stringify(routes)).includes('"stale":true');
        });
      }
    }
    const answered = steady.map((connection) => connection.lines().length);
    await lab.until('the connections go on', async (note) =>
      note(steady.map((connection) => connection.lines().length)).every((count, index) => count > (answered[index] ?? 0) + 5),
    );
    expect(steady.flatMap((connection) => connection.lines().filter((line) => line.startsWith('broken')))).toEqual([]);
    for (const probe of probes) expect((await probe.stop()).errors).toEqual({});
    await watch.catchUp();
    await watch.stop();
    expect(watch.events()).toEqual([]);
    for (const tor of tors) {
      for (const address of addresses) expect(await nextHops(lab, tor, address)).toEqual(viaNodes(tor, ['node1'], address));
    }
  }

  beforeAll(async () => {
    await peersWith('enableGracefulRestart: true');
    for (const tor of tors) {
      for (const family of [4, 6] as const) {
        await lab.until(`${tor} helps`, async (note) => {
          const found = note(await neighbor(tor, family));
          return found?.bgpState === 'Established' && JSON.stringify(found.gracefulRestartInfo).includes('"remoteGrMode":"Restart"');
        });
      }
    }
    await untilRoutes();
  });

  test('SIGTERM and a new start of the agent: the switches keep the routes, the connections go on', async () => {
    await expectNothingHappened(async () => {
      expect(await agent.stop()).toMatchObject({ code: 0 });
    });
  });

  test('kill -9 and a new start of the agent: likewise', async () => {
    await expectNothingHappened(async () => agent.kill('SIGKILL'));
  });

  test('adminDown takes the routes away at once', async () => {
    await peersWith('enableGracefulRestart: true, adminDown: true', /tor1-v/);
    await untilGone('tor1');
    await peersWith('enableGracefulRestart: true');
    await untilRoutes();
  });

  test('a BGPPeer that is removed takes the routes away at once', async () => {
    const without = (await herald.read('20-herald.yaml')).split('\n---\n').filter((document) => !document.includes('name: tor1-v'));
    await herald.write('20-herald.yaml', without.join('\n---\n'));
    await untilGone('tor1');
    await peersWith('enableGracefulRestart: true');
    await untilRoutes();
  });

  test('after the rules were lost, the switches do not go on as if they were there', async () => {
    agent.kill('SIGKILL');
    await agent.exited;
    await lab.node('node1').exec(['nft', 'flush', 'ruleset']);
    await restartAgent();
    await untilSessions();
    await untilRoutes();
    await lab.until('tor1 has heard that nothing was kept', async (note) =>
      JSON.stringify(note((await neighbor('tor1', 4))?.gracefulRestartInfo)).includes('"fBit":false'),
    );
  });

  test('--on-stop shutdown withdraws the routes all the same', async () => {
    await agent.stop();
    agent = herald.startAgent('node1', '--on-stop', 'shutdown');
    await agent.waitForLine(/agent started/);
    await untilSessions();
    await untilRoutes();
    expect(await agent.stop()).toMatchObject({ code: 0 });
    await agent.waitForLine(/routers are asked to prefer other nodes/);
    for (const address of addresses) for (const tor of tors) await untilNextHops(lab, tor, address, []);
    await restartAgent();
    await untilRoutes();
  });
});

describe('an unnumbered session', () => {
  test('finds the switch by its router advertisements, and carries both families', async () => {
    await lab
      .router('tor1')
      .configure([
        `router bgp ${torAsn.tor1}`,
        `no neighbor ${nodeAddress.tor1[4]}`,
        `no neighbor ${nodeAddress.tor1[6]}`,
        'neighbor br0 interface remote-as external',
        'neighbor br0 timers 3 9',
        'address-family ipv4 unicast',
        'neighbor br0 activate',
        'exit-address-family',
        'address-family ipv6 unicast',
        'neighbor br0 activate',
        'exit-address-family',
      ]);
    const others = manifest.split('\n---\n').filter((document) => !document.includes('name: tor1-v'));
    const unnumbered = `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1 }
spec: { myASN: 64512, dynamicASN: external, interface: tor1, holdTime: 9s, keepaliveTime: 3s, connectTime: 1s }`;
    await herald.write('20-herald.yaml', [unnumbered, ...others].join('\n---\n'));
    await untilEstablished('tor1');
    expect((await herald.sessions('node1')).find(({ peer }) => peer === 'tor1')).toMatchObject({
      address: expect.stringMatching(/^fe80::/),
      interface: 'tor1',
    });
    for (const address of addresses) {
      await lab.until(`tor1 routes ${address} through the link`, async (note) => {
        const hops = note(await linkHops(address));
        return hops.length === 1 && hops[0]?.via?.startsWith('fe80::') === true && hops[0]?.dev === 'br0';
      });
      const { errors } = await lab.client.tcp({ address, port: 80, count: 20 });
      expect(errors).toEqual({});
    }
  });

  /** iproute shows an IPv4 route through an IPv6 gateway as "via". */
  async function linkHops(address: string): Promise<{ via: string | undefined; dev: string | undefined }[]> {
    const family = address.includes(':') ? '-6' : '-4';
    const { stdout } = await lab.router('tor1').exec(['ip', '-j', family, 'route', 'show', address]);
    const routes = JSON.parse(stdout || '[]') as { gateway?: string; via?: { host: string }; dev?: string }[];
    return routes.map(({ gateway, via, dev }) => ({ via: gateway ?? via?.host, dev }));
  }
});
