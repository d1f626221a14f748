import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess } from './lab.ts';
import type { Note } from './until.ts';
import { RouteWatch } from './route-watch.ts';
import { bestPath, nextHops, untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/** There is one node, so every packet depends on the ToRs' routes to it. */
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
  // Configures neighbours by address instead of by prefix: a ToR can connect only to a node that it knows.
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

/** Writes the original manifest with more fields in the spec of every BGPPeer that matches. */
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

/** Waits for 90 s, because a session that failed a few times makes longer pauses. */
async function untilEstablished(peer: string): Promise<void> {
  const established = async (note: Note): Promise<boolean> => {
    return note(await herald.sessions('node1')).find((candidate) => candidate.peer === peer)?.state === 'Established';
  };
  await lab.until(`${peer} is Established`, established, 90_000);
}

/** Waits until the ToR no longer sends to the node directly. It may have another path, through the spine and the other ToR. */
async function untilNoDirectPath(tor: Tor): Promise<void> {
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

/** Waits for the sessions. Routes alone prove nothing: with graceful restart they are present before the session is. */
async function untilSessions(): Promise<void> {
  for (const tor of tors) {
    for (const family of [4, 6] as const) {
      await lab.until(`${tor} has the session`, async (note) => note(await neighbor(tor, family))?.bgpState === 'Established');
    }
  }
}

async function nodeListens(): Promise<boolean> {
  const { stdout } = await lab.node('node1').exec(['ss', '-Hltn', 'sport = :179']);
  return stdout.trim() !== '';
}

async function restartAgent(): Promise<void> {
  agent = herald.startAgent('node1');
  await agent.waitForLine(/agent started/);
}

describe('a passive peer', () => {
  test('the ToR connects to a passive peer, and the node listens as long as there is one', async () => {
    expect(await nodeListens()).toBe(false);
    await peersWith('passive: true', /tor1-v/);
    for (const family of [4, 6] as const) {
      await lab.until('tor1 has connected to the node', async (note) => {
        const found = note(await neighbor('tor1', family));
        return found?.bgpState === 'Established' && found.portForeign === 179;
      });
    }
    expect(await nodeListens()).toBe(true);
    await untilRoutes();
    await herald.write('20-herald.yaml', manifest);
    await lab.until('the node no longer listens', async (note) => !note(await nodeListens()));
    await untilRoutes();
  });
});

describe('a passive peer with a password', () => {
  const password = (line: string): Promise<void> => lab.router('tor1').configure([`router bgp ${torAsn.tor1}`, line]);

  test('the node accepts the ToR with the password and rejects it without', async () => {
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

describe('a peer with localASN', () => {
  test('localASN is the only AS number of ours that the peer sees', async () => {
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
  test('a ToR without TTL security gets no session, and the node drops its packets', async () => {
    await peersWith('ttlSecurityHops: 1', /tor1-v4/);
    // The node's kernel drops the ToR's packets in every state of the session.
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
    ['the node connects', 'ttlSecurityHops: 1'],
    ['the ToR connects', 'ttlSecurityHops: 1, passive: true'],
  ])('the session comes up when both ends have TTL security: %s', async (_, fields) => {
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

  test('the session goes down when only the ToR has TTL security', async () => {
    await herald.write('20-herald.yaml', manifest);
    await lab.until('tor1 has lost the session', async (note) => note((await neighbor('tor1', 4))?.bgpState) !== 'Established');
    await lab
      .router('tor1')
      .configure([
        `router bgp ${torAsn.tor1}`,
        ...[4, 6].map((family) => `no neighbor ${nodeAddress.tor1[family as 4 | 6]} ttl-security hops 1`),
      ]);
    await untilRoutes();
  });

  test('TTL security with ebgpMultiHop is refused, and the session keeps running', async () => {
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
        // Stale routes that the agent does not announce again go with End-of-RIB, and not earlier.
        await lab.until(`${tor} has no stale routes`, async (note) => {
          const { routes } = await lab.router(tor).show<{ routes: object }>(`show bgp ipv${family} unicast json`);
          return !note(JSON.stringify(routes)).includes('"stale":true');
        });
      }
    }
    const answered = steady.map((connection) => connection.lines().length);
    await lab.until('the connections get more answers', async (note) =>
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
        await lab.until(`${tor} is a graceful restart helper`, async (note) => {
          const found = note(await neighbor(tor, family));
          return found?.bgpState === 'Established' && JSON.stringify(found.gracefulRestartInfo).includes('"remoteGrMode":"Restart"');
        });
      }
    }
    await untilRoutes();
  });

  test('the ToRs keep the routes and connections go on across a restart by SIGTERM', async () => {
    await expectNothingHappened(async () => {
      expect(await agent.stop()).toMatchObject({ code: 0 });
    });
  });

  test('the ToRs keep the routes and connections go on across a restart by kill -9', async () => {
    await expectNothingHappened(async () => agent.kill('SIGKILL'));
  });

  test('adminDown withdraws the routes at once', async () => {
    await peersWith('enableGracefulRestart: true, adminDown: true', /tor1-v/);
    await untilNoDirectPath('tor1');
    await peersWith('enableGracefulRestart: true');
    await untilRoutes();
  });

  test('removing a BGPPeer withdraws its routes at once', async () => {
    const without = (await herald.read('20-herald.yaml')).split('\n---\n').filter((document) => !document.includes('name: tor1-v'));
    await herald.write('20-herald.yaml', without.join('\n---\n'));
    await untilNoDirectPath('tor1');
    await peersWith('enableGracefulRestart: true');
    await untilRoutes();
  });

  test('the ToRs do not keep routes of an agent that lost its rules', async () => {
    agent.kill('SIGKILL');
    await agent.exited;
    await lab.node('node1').exec(['nft', 'flush', 'ruleset']);
    await restartAgent();
    await untilSessions();
    await untilRoutes();
    await lab.until('tor1 has received a clear F bit', async (note) =>
      JSON.stringify(note((await neighbor('tor1', 4))?.gracefulRestartInfo)).includes('"fBit":false'),
    );
  });

  test('--on-stop shutdown withdraws the routes although graceful restart is on', async () => {
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
  test('an unnumbered session finds the ToR by its router advertisements and carries both families', async () => {
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
