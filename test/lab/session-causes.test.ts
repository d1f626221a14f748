import process from 'node:process';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { examples, HeraldInLab, type RecordedSession } from './herald.ts';
import { sampleOf } from '../unit/telemetry/scrape.ts';
import { Lab, type LabProcess } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * Causes of a session that is down, each made for real with FRR: the report of the agent names the first cause, and keeps it when later
 * connection attempts fail in another way. The agent listens, so that FRR's own connections reach it.
 */
const router = { 4: '10.1.0.1', 6: 'fd00:1::1' } as const;
const local = { 4: '10.1.0.11', 6: 'fd00:1::11' } as const;
const families = [4, 6] as const;
let lab: Lab;
let herald: HeraldInLab;
let controller: LabProcess;

const peer = (family: 4 | 6, more = ''): string => `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1-v${family} }
spec: { myASN: 64512, peerASN: 65101, peerAddress: "${router[family]}", holdTime: 3s, keepaliveTime: 1s, connectTime: 1s, flapDamping: false, nodeSelectors: [{ matchLabels: { only: here } }]${more} }
`;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [], nodes: 1, bfd: 1_000 }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml']);
  await herald.edit('10-cluster.yaml', (text) => text.replace('name: node1, labels: {', 'name: node1, labels: { only: here,'));
  // Neighbors with lines of their own: FRR then dials too.
  await configure(
    families.flatMap((family) => [`neighbor ${local[family]} remote-as 64512`, `neighbor ${local[family]} timers connect 1`]),
  );
  for (const family of families) await configure([`address-family ipv${family} unicast`, `neighbor ${local[family]} activate`]);
  await usePeers();
  controller = herald.startController();
  await herald.startAgent('node1', '--bgp-listen', '179').waitForLine(/agent started/);
});

afterAll(async () => {
  await lab?.stop();
});

beforeEach(async () => {
  await lab.node('node1').exec(['sh', '-c', 'nft delete table inet cut || true']);
  for (const family of families) {
    await configure([
      `neighbor ${local[family]} remote-as 64512`,
      `no neighbor ${local[family]} password`,
      `no neighbor ${local[family]} shutdown`,
      `no neighbor ${local[family]} bfd`,
    ]);
  }
  await usePeers();
  for (const family of families) await untilUp(family);
});

async function configure(lines: readonly string[]): Promise<void> {
  await lab.router('tor1').configure(['router bgp 65101', ...lines]);
}

async function usePeers(more = ''): Promise<void> {
  await herald.write('20-peers.yaml', families.map((family) => peer(family, more)).join('---\n'));
}

/** Drops packets of the node, given as lines of a chain. */
async function drop(hook: 'input' | 'output', ...rules: readonly string[]): Promise<void> {
  const lines = rules.map((rule) => `${rule} drop`).join('\n');
  const table = `table inet cut {\nchain it {\ntype filter hook ${hook} priority -300\n${lines}\n}\n}`;
  await lab.node('node1').exec(['nft', table]);
}

const sessionOf = async (family: 4 | 6): Promise<RecordedSession | undefined> =>
  (await herald.sessions('node1')).find(({ peer }) => peer === `tor1-v${family}`);

async function untilUp(family: 4 | 6): Promise<void> {
  await lab.until(`the IPv${family} session is established`, async (note) => note(await sessionOf(family))?.state === 'Established');
}

async function untilCause(
  family: 4 | 6,
  code: string,
  isEnough: (session: RecordedSession) => boolean = () => true,
): Promise<RecordedSession> {
  return await lab.until(`the cause of the IPv${family} session is ${code}`, async (note) => {
    const session = note(await sessionOf(family));
    return session?.cause?.code === code && isEnough(session) ? session : undefined;
  });
}

const hasLaterSymptom = ({ cause }: RecordedSession): boolean => (cause?.details['latest'] ?? '') !== '';

async function explain(family: 4 | 6): Promise<string> {
  return (await herald.run('explain', 'peer', `tor1-v${family}`, '--source', herald.directory)).stdout;
}

describe('a link that loses the packets of one direction', () => {
  const both = (rule: string): string[] =>
    families.map((family) => `${family === 4 ? 'ip' : 'ip6'} ${rule} ${router[family]} meta l4proto tcp`);

  test('packets to the router are lost: its expired hold timer stays the cause while attempts time out', async () => {
    await drop('output', ...both('daddr'));
    for (const family of families) {
      const { cause, lastError } = await untilCause(family, 'HoldTimeExpired', hasLaterSymptom);
      // FRR sends nothing new while its last KEEPALIVE is not acknowledged, so the hold timer of either side may be the first.
      expect(cause?.message).toMatch(/^hold timer of .* expired: .* heard nothing from .*; since then: no answer/);
      expect(`${lastError} ${cause?.message}`).not.toMatch(/MD5/);
      expect(await explain(family)).toMatch(/^Down: 0 of 1 sessions. Node node1: hold timer of /);
    }
  });

  test('packets of the router are lost: our expired hold timer stays the cause while attempts time out', async () => {
    await drop('input', ...both('saddr'));
    for (const family of families) {
      const { cause, lastError } = await untilCause(family, 'HoldTimeExpired', hasLaterSymptom);
      expect(cause?.message).toMatch(/heard nothing from the router .* for 3 s .*; since then: no answer/);
      expect(`${lastError} ${cause?.message}`).not.toMatch(/MD5/);
    }
  });
});

/** Returns the code of what an established session lacks, as each report has it. */
async function codesOf(peer: string) {
  const session = (await herald.sessions('node1')).find((one) => one.peer === peer);
  const { stdout } = await herald.run('peers', '--peer', peer, '--source', herald.directory, '-o', 'json');
  const { sessions } = JSON.parse(stdout) as { sessions: readonly { warning?: { code: string } }[] };
  // In a directory, an Event is a line of the controller's log.
  const events = controller.lines().filter((line) => line.includes('configuration object') && line.includes(`BGPPeer/${peer}`));
  const program = "fetch('http://10.0.0.11:10290/metrics').then(async (answer) => console.log(await answer.text()))";
  const { stdout: metrics } = await lab.node('node1').exec([process.execPath, '-e', program]);
  return {
    nodeState: session?.warning?.code,
    condition: (await herald.objectConditions('BGPPeer', peer))['Ready']?.reason,
    event: /BFDDown/.exec(events.at(-1) ?? '')?.[0],
    metric: sampleOf(metrics, `herald_bgp_session_problem{peer="${peer}",reason="BFDDown"}`) === 1 ? 'BFDDown' : undefined,
    peers: sessions[0]?.warning?.code,
  };
}

describe('BFD whose packets are lost while TCP works', () => {
  const profile = `apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: lab }
spec: { transmitInterval: 1000, receiveInterval: 1000, detectMultiplier: 3 }
`;

  test('the session returns without BFD, and every report says so with the code BFDDown', async () => {
    await configure(families.flatMap((family) => [`neighbor ${local[family]} bfd`, `neighbor ${local[family]} bfd profile lab`]));
    await herald.write('21-bfd.yaml', profile);
    await usePeers(', bfdProfile: lab');
    for (const family of families) {
      await lab.until(`BFD over IPv${family} is up`, async (note) => note(await sessionOf(family))?.bfd?.state === 'Up');
    }
    await drop('input', 'udp dport { 3784, 4784 }');
    for (const family of families) {
      await lab.until('the session is established although BFD is down', async (note) => {
        const session = note(await sessionOf(family));
        return session?.state === 'Established' && session.bfd?.state === 'Down';
      });
      await lab.until('NodeState, condition, Event, metric and `herald peers` have the code', async (note) => {
        const codes = note(await codesOf(`tor1-v${family}`));
        return Object.values(codes).every((code) => code === 'BFDDown');
      });
      expect(await explain(family)).toMatch(
        /^Up: 1 of 1 sessions, but on node node1: BFD with "tor1-v\d" .* is down .* although the TCP connection works: .*UDP port 3784 .*BFDProfile "lab"/,
      );
      const status = await herald.run('status', '--problems', '--source', herald.directory, '-o', 'json');
      const { problems } = JSON.parse(status.stdout) as { problems: readonly { object: string; code: string }[] };
      expect(problems.filter(({ object }) => object === `BGPPeer/tor1-v${family}`).map(({ code }) => code)).toEqual(['BFDDown']);
      expect(status.code).toBe(3);
    }
  });
});

test('explain names the address family that the router does not offer, and the line to add on the router', async () => {
  await configure(['address-family ipv6 unicast', `no neighbor ${local[4]} activate`]);
  await usePeers(', dualStackAddressFamily: true');
  const session = await lab.until('the IPv4 session lacks IPv6', async (note) => {
    const found = note(await sessionOf(4));
    return found?.state === 'Established' && found.warning !== undefined ? found : undefined;
  });
  expect(session.warning).toMatchObject({ code: 'PeerFamilyNotNegotiated', details: { family: 'IPv6', local: local[4] } });
  expect(await explain(4)).toMatch(
    /^Up: 1 of 1 sessions, but on node node1: .* is up without IPv6: .* address-family ipv6 unicast, neighbor 10\.1\.0\.11 activate/,
  );
});

test('explain names graceful restart that the router does not offer, and the line to add on the router', async () => {
  await configure([`neighbor ${local[4]} graceful-restart-disable`]);
  await usePeers(', enableGracefulRestart: true');
  await lab.until(
    'the session lacks graceful restart',
    async (note) => note(await sessionOf(4))?.warning?.code === 'PeerGracefulRestartNotNegotiated',
  );
  expect(await explain(4)).toMatch(
    /^Up: 1 of 1 sessions, but on node node1: .* is up without graceful restart: .* neighbor 10\.1\.0\.11 graceful-restart-helper/,
  );
  await configure([`neighbor ${local[4]} graceful-restart-helper`, `neighbor ${local[4]} shutdown`, `no neighbor ${local[4]} shutdown`]);
  await lab.until('FRR offers it, and nothing is missing', async (note) => {
    const session = note(await sessionOf(4));
    return session?.state === 'Established' && session.warning === undefined;
  });
});

describe('refusals of the router', () => {
  test('a password that only the router has is named when the kernel drops its signed segments', async () => {
    await configure(families.map((family) => `neighbor ${local[family]} password secret`));
    for (const family of families) {
      const { cause } = await untilCause(family, 'PeerPasswordRejected');
      expect(cause?.message).toContain(`the router ${router[family]} has a TCP MD5 password for this node`);
      expect(await explain(family)).toContain(`no neighbor ${local[family]} password`);
    }
  });

  test('explain names the AS number that the router does not expect, and the line to change on the router', async () => {
    await configure(families.map((family) => `neighbor ${local[family]} remote-as 64999`));
    for (const family of families) {
      const { cause } = await untilCause(family, 'PeerASMismatch');
      expect(cause?.message).toContain(`the router ${router[family]} refuses AS 64512 (spec.myASN of BGPPeer "tor1-v${family}")`);
      expect(await explain(family)).toContain(`neighbor ${local[family]} remote-as 64512`);
    }
  });

  test('an AS number that BGPPeer does not expect is named with our field', async () => {
    await herald.edit('20-peers.yaml', (text) => text.replaceAll('peerASN: 65101', 'peerASN: 65999'));
    for (const family of families) {
      const { cause } = await untilCause(family, 'PeerASMismatch');
      expect(cause?.message).toContain(`has spec.peerASN: 65999, but the router ${router[family]} says AS 65101`);
      expect(await explain(family)).toContain(`Set spec.peerASN: 65101 in BGPPeer "tor1-v${family}"`);
    }
  });

  test('a shutdown at the router stays the cause, with its text, while it refuses connections', async () => {
    await configure(families.map((family) => `neighbor ${local[family]} shutdown message switch upgrade`));
    for (const family of families) {
      const { cause } = await untilCause(family, 'PeerClosed');
      expect(cause?.message).toContain('Administrative Shutdown (6/2): "switch upgrade"');
      expect(await explain(family)).toContain(`no neighbor ${local[family]} shutdown`);
    }
  });

  test('a router without the neighbor refuses the connection', async () => {
    await lab.router('tor1').kill('bgpd');
    for (const family of families) {
      await untilCause(family, 'PeerRefusesConnection');
      expect(await explain(family)).toContain(`neighbor ${local[family]} remote-as 64512`);
    }
  });
});
