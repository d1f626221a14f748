import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab, type RecordedSession } from './herald.ts';
import { Lab } from './lab.ts';
import { nextHops, untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * BGP that waits for BFD, with FRR at the other end. tor1 has the node configured as a neighbour by its addresses; tor2 accepts any
 * neighbour from the node's network. The path to tor1 is broken for BFD only, so that BGP could come up if it did not wait.
 */
const node = { 4: '10.1.0.11', 6: 'fd00:1::11' } as const;
/** Milliseconds. The interval is long enough that a process that is suspended for seconds ends no session. */
const interval = 2_000;
const profile = `apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: lab }
spec: { transmitInterval: ${interval}, receiveInterval: ${interval}, detectMultiplier: 3 }
`;
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];
let manifest: string;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: 1, pods: [{ name: 'web-1', node: 'node1' }], bfd: interval }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  await herald.write('21-bfd.yaml', profile);
  manifest = await herald.read('20-herald.yaml');
  const neighbor = (address: string): readonly string[] => [
    `neighbor ${address} remote-as 64512`,
    `neighbor ${address} timers connect 1`,
    `neighbor ${address} bfd`,
    `neighbor ${address} bfd profile lab`,
  ];
  const activate = (family: 4 | 6): readonly string[] => [
    `address-family ipv${family} unicast`,
    `neighbor ${node[family]} activate`,
    'exit-address-family',
  ];
  await lab.router('tor1').configure(['router bgp 65101', ...neighbor(node[4]), ...neighbor(node[6]), ...activate(4), ...activate(6)]);
  await breakBfd();
  await setStrict(/tor1-v/);
  await herald.start(['node1']);
  addresses = await herald.untilAssigned('shop/web', 2);
});

afterAll(async () => {
  await lab?.stop();
});

/** Gives every BGPPeer BFD. The peers that match `which` wait for it. */
async function setStrict(which: RegExp): Promise<void> {
  const documents = manifest.split('\n---\n').map((document) => {
    if (!document.includes('kind: BGPPeer')) return document;
    const strict = which.test(document) ? ', bfdStrict: true' : '';
    // Only BFD may end a session in this test, so the hold time is long.
    return document.replace('holdTime: 3s, keepaliveTime: 1s', `holdTime: 90s, bfdProfile: lab${strict}`);
  });
  await herald.write('20-herald.yaml', documents.join('\n---\n'));
}

async function nft(command: string): Promise<string> {
  return (await lab.router('tor1').exec(['nft', command])).stdout;
}

/** Drops all BFD packets that arrive at tor1, and counts the SYNs by which a node tries to open a BGP session with it. */
async function breakBfd(): Promise<void> {
  await nft(`table inet lab {
  counter calls {}
  chain in {
    type filter hook input priority 0
    udp dport 3784 drop
    iifname br0 tcp dport 179 tcp flags & (syn | ack) == syn counter name calls
  }
}`);
}

async function healBfd(): Promise<void> {
  await nft('delete table inet lab');
}

async function connectionAttempts(): Promise<number> {
  return Number(/packets (\d+)/.exec(await nft('list counter inet lab calls'))?.[1]);
}

async function sessionsOf(tor: string): Promise<readonly RecordedSession[]> {
  return (await herald.sessions('node1')).filter(({ peer }) => peer.startsWith(tor));
}

async function untilBothUp(tor: string): Promise<void> {
  await lab.until(`both BGP sessions and both BFD sessions with ${tor} are up`, async (note) => {
    const states = note((await sessionsOf(tor)).map(({ state, bfd }) => `${state} ${bfd?.state}`));
    return states.length === 2 && states.every((state) => state === 'Established Up');
  });
}

async function untilBothWait(tor: string): Promise<readonly RecordedSession[]> {
  return lab.until(`both sessions with ${tor} wait for BFD`, async (note) => {
    const sessions = note(await sessionsOf(tor));
    return sessions.length === 2 && sessions.every(({ lastError = '' }) => lastError.includes('waits for BFD (bfdStrict)')) && sessions;
  });
}

/** Milliseconds. This is longer than `connectTime` and than the second after which FRR retries. */
const longerThanRetry = 5_000;

async function expectNoConnectionAttempts(): Promise<void> {
  const before = await connectionAttempts();
  await new Promise((resolve) => setTimeout(resolve, longerThanRetry));
  expect(await connectionAttempts()).toBe(before);
  for (const { state } of await sessionsOf('tor1')) expect(state).toBe('Idle');
}

describe('BFD-022 strict mode, IPv4 and IPv6', () => {
  test('no session begins before BFD is up: the node does not connect, and explain says that it waits', async () => {
    await untilBothUp('tor2');
    const sessions = await untilBothWait('tor1');
    expect(sessions.map(({ bfd }) => bfd?.state)).not.toContain('Up');
    await expectNoConnectionAttempts();
    expect(await connectionAttempts()).toBe(0);
    for (const address of addresses) expect(await nextHops(lab, 'tor1', address)).not.toContain(viaNodes('tor1', ['node1'], address)[0]);
    const { message } = await herald.untilCondition('shop/web', 'Announced', 'True');
    expect(message).not.toContain('BFD');
    const answer = await herald.explain('shop/web');
    expect(answer).toContain('waits for BFD (bfdStrict)');
  });

  test('the session begins when BFD comes up', async () => {
    await healBfd();
    await untilBothUp('tor1');
    for (const address of addresses) await untilNextHops(lab, 'tor1', address, viaNodes('tor1', ['node1'], address));
  });

  test('after a loss no session begins until BFD is up again, although BGP could open one', async () => {
    await breakBfd();
    for (const { bfd } of await untilBothWait('tor1')) expect(bfd?.state).not.toBe('Up');
    await expectNoConnectionAttempts();
    for (const address of addresses) expect(await nextHops(lab, 'tor1', address)).not.toContain(viaNodes('tor1', ['node1'], address)[0]);
    await healBfd();
    await untilBothUp('tor1');
    for (const address of addresses) await untilNextHops(lab, 'tor1', address, viaNodes('tor1', ['node1'], address));
  });
});

describe('a ToR that runs BFD only with dynamic neighbours', () => {
  /** Asks by vtysh, because bfdd's own socket does not know the command. */
  const bfdPeers = async (tor: string): Promise<readonly Record<string, number>[]> => {
    const { stdout } = await lab.router(tor).exec(['vtysh', '-N', lab.router(tor).namespace, '-c', 'show bfd peers json']);
    return JSON.parse(stdout) as Record<string, number>[];
  };

  test('turning strict mode on keeps a running session; once it ended, both ends wait for each other', async () => {
    const since = (await sessionsOf('tor2')).map((session) => session.since);
    await setStrict(/tor\d-v/);
    // Both edits are applied in order: when the agent has applied the next one, it has applied this one.
    await herald.edit('21-bfd.yaml', (text) => text.replace(`transmitInterval: ${interval}`, 'transmitInterval: 2100'));
    await lab.until('FRR has received the new interval', async (note) => {
      const intervals = note((await bfdPeers('tor1')).map((peer) => peer['remote-transmit-interval']));
      return intervals.every((milliseconds) => milliseconds === 2_100);
    });
    expect((await sessionsOf('tor2')).map((session) => session.since)).toEqual(since);
    await lab.router('tor2').restart('bgpd');
    await untilBothWait('tor2');
    await lab.until('FRR runs no BFD with a neighbour it does not know', async (note) => note((await bfdPeers('tor2')).length) === 0);
    expect((await untilBothWait('tor2')).map(({ state }) => state)).toEqual(['Idle', 'Idle']);
  });

  test('the sessions return when strict mode is turned off', async () => {
    await setStrict(/tor1-v/);
    await untilBothUp('tor2');
  });
});
