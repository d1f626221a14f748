import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab, type RecordedSession } from './herald.ts';
import { Lab } from './lab.ts';
import { RouteWatch } from './route-watch.ts';
import { untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * Tests the agent's BFD against FRR's, and its effect on routes in the ToR's kernel. BGP's own timers are far too slow to explain any of
 * it. The intervals are so long that a process that is suspended for seconds ends no session. With `BFD_INTERVAL=100` the test prints the
 * time that 100 ms x 3 take.
 */
const nodes = ['node1', 'node2'];
const interval = Number(process.env['BFD_INTERVAL'] ?? 2_000);
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

const profile = (milliseconds: number): string => `apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: lab }
spec: { transmitInterval: ${milliseconds}, receiveInterval: ${milliseconds}, detectMultiplier: 3 }
`;

beforeAll(async () => {
  lab = await Lab.start(
    standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })), nodes: 2, bfd: interval }),
  );
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('20-herald.yaml', (text) =>
    text.replaceAll(
      'holdTime: 3s, keepaliveTime: 1s, connectTime: 1s',
      'holdTime: 90s, connectTime: 1s, bfdProfile: lab, enableGracefulRestart: true',
    ),
  );
  await herald.write('21-bfd.yaml', profile(interval));
  await herald.start(nodes);
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilRoutes('tor1', nodes);
  await untilRoutes('tor2', nodes);
});

afterAll(async () => {
  await lab?.stop();
});

async function untilRoutes(tor: string, via: readonly string[]): Promise<void> {
  for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, via, address));
}

async function sessionsOf(node: string, tor: string): Promise<readonly RecordedSession[]> {
  return (await herald.sessions(node)).filter(({ peer }) => peer.startsWith(tor));
}

/** Waits until BFD is up with both ToRs. `since` (milliseconds) excludes sessions that an earlier agent reported. */
async function untilBfdUp(node: string, since = 0): Promise<void> {
  await lab.until(`BFD of ${node} is up with both ToRs`, async (note) => {
    const sessions = (await herald.sessions(node)).filter(({ bfd }) => Date.parse(bfd?.since ?? '') >= since);
    const states = note(sessions.map(({ state, bfd }) => `${state} ${bfd?.state}`));
    return states.length === 4 && states.every((state) => state === 'Established Up');
  });
}

/** Asks by vtysh, because bfdd's own socket does not know the command. */
async function bfdPeers(tor: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { stdout } = await lab.router(tor).exec(['vtysh', '-N', lab.router(tor).namespace, '-c', 'show bfd peers json']);
  return JSON.parse(stdout) as Record<string, unknown>[];
}

test("BFD-006 BFD comes up for each session on both sides and is in the node's report", async () => {
  for (const node of nodes) await untilBfdUp(node);
  await lab.until('FRR reports four sessions up', async (note) => {
    const states = note((await bfdPeers('tor1')).map(({ status }) => status));
    return states.length === 4 && states.every((status) => status === 'up');
  });
});

describe('a broken path whose links stay up', () => {
  test('BFD-021 both ends close their BGP sessions, and the ToR uses the other node; prints the time', async () => {
    const watch = await RouteWatch.start(lab, ['tor1'], addresses);
    const cut = Date.now();
    await lab.cut('node1', 'tor1');
    await untilRoutes('tor1', ['node2']);
    await watch.catchUp();
    await watch.stop();
    const took = watch.events().map(({ at }) => at - cut);
    expect(took.length).toBeGreaterThan(0);
    console.info(`the ToR's kernel sends elsewhere ${Math.min(...took)} to ${Math.max(...took)} ms after the cut, at ${interval} ms x 3`);
    const [session] = await lab.until('the agent has closed its sessions with tor1', async (note) => {
      const sessions = note(await sessionsOf('node1', 'tor1'));
      return sessions.length === 2 && sessions.every(({ state, bfd }) => state !== 'Established' && bfd?.state === 'Down') && sessions;
    });
    expect(session?.bfd?.reason).toMatch(/control detection time expired|neighbor signaled session down/);
    // The sessions with the other ToR stay.
    expect((await sessionsOf('node1', 'tor2')).map(({ state }) => state)).toEqual(['Established', 'Established']);
  });

  test('BFD-022 sessions and routes return when the path is healed', async () => {
    await lab.heal('node1', 'tor1');
    await untilRoutes('tor1', nodes);
    await untilBfdUp('node1');
  });
});

test('BFD-015 a changed profile applies to running sessions without a flap', async () => {
  const since = async (): Promise<(string | undefined)[]> =>
    (await herald.sessions('node1')).flatMap(({ since, bfd }) => [since, bfd?.since]);
  const before = await since();
  await herald.write('21-bfd.yaml', profile(2_500));
  await lab.until('FRR has received the new interval', async (note) => {
    const intervals = note((await bfdPeers('tor1')).map((peer) => peer['remote-transmit-interval']));
    return intervals.every((milliseconds) => milliseconds === 2_500);
  });
  await herald.write('21-bfd.yaml', profile(interval));
  expect(await since()).toEqual(before);
});

describe('an agent that restarts', () => {
  /** Ends and restarts the agent and expects that tor1 deletes no route to the Service meanwhile. */
  async function expectRoutesKept(end: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const watch = await RouteWatch.start(lab, ['tor1'], addresses);
    herald.agent('node1').kill(end);
    await herald.agent('node1').exited;
    const ended = Date.now();
    await herald.startAgent('node1').waitForLine(/agent started/);
    await untilBfdUp('node1', ended);
    await watch.catchUp();
    await watch.stop();
    expect(watch.events().filter(({ deleted }) => deleted)).toEqual([]);
    await untilRoutes('tor1', nodes);
  }

  test('BFD-020 the ToR keeps its routes after SIGTERM, because of graceful restart and AdminDown', async () => {
    await expectRoutesKept('SIGTERM');
  });

  test('BFD-023 the ToR keeps its routes after SIGKILL, because the C bit says that BFD ends with BGP', async () => {
    await expectRoutesKept('SIGKILL');
  });

  test('BFD-021 the ToR deletes the routes of a node that is cut off, although graceful restart is on', async () => {
    const cut = Date.now();
    await lab.cut('node1', 'tor1');
    await untilRoutes('tor1', ['node2']);
    console.info(`routes to a dead node with graceful restart are gone ${Date.now() - cut} ms after the cut (polled every few ms)`);
    await lab.heal('node1', 'tor1');
    await untilRoutes('tor1', nodes);
  });
});
