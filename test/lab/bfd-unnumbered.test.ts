import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab, type RecordedSession } from './herald.ts';
import { Lab } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * BFD with a ToR whose address is not configured. Herald finds the ToR by its router advertisements and runs BFD over link-local addresses.
 */

/** Milliseconds. The interval is long enough that a process that is suspended for seconds ends no session. */
const interval = 2_000;
const profile = `apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: lab }
spec: { transmitInterval: ${interval}, receiveInterval: ${interval}, detectMultiplier: 3 }
`;
const peer = (more: string): string => `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1 }
spec: { myASN: 64512, dynamicASN: external, interface: tor1, holdTime: 90s, connectTime: 1s, bfdProfile: lab${more} }
`;
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: 1, pods: [{ name: 'web-1', node: 'node1' }], bfd: interval }));
  const activate = (family: 4 | 6): readonly string[] => [
    `address-family ipv${family} unicast`,
    'neighbor br0 activate',
    'exit-address-family',
  ];
  await lab
    .router('tor1')
    .configure([
      'router bgp 65101',
      'neighbor br0 interface remote-as external',
      'neighbor br0 timers 30 90',
      'neighbor br0 timers connect 1',
      'neighbor br0 bfd',
      'neighbor br0 bfd profile lab',
      ...activate(4),
      ...activate(6),
    ]);
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  await herald.edit('20-herald.yaml', (text) =>
    text
      .split('\n---\n')
      .filter((document) => !document.includes('kind: BGPPeer'))
      .join('\n---\n'),
  );
  await herald.write('21-bfd.yaml', profile);
  await herald.write('22-peer.yaml', peer(''));
  await herald.start(['node1']);
  addresses = await herald.untilAssigned('shop/web', 2);
});

afterAll(async () => {
  await lab?.stop();
});

async function session(): Promise<RecordedSession | undefined> {
  return (await herald.sessions('node1'))[0];
}

async function untilUp(since = 0): Promise<void> {
  await lab.until('the BGP session and the BFD session are up', async (note) => {
    const { state, bfd } = note(await session()) ?? {};
    return state === 'Established' && bfd?.state === 'Up' && Date.parse(bfd.since) >= since;
  });
  for (const address of addresses) await lab.until(`tor1 routes ${address}`, async (note) => note(await hops(address)) === 1);
}

/** Counts next hops of the address on the node's link. iproute2 shows the gateway of an IPv4 route through an IPv6 next hop as "via". */
async function hops(address: string): Promise<number> {
  const { stdout } = await lab.router('tor1').exec(['ip', '-j', address.includes(':') ? '-6' : '-4', 'route', 'show', address]);
  const routes = JSON.parse(stdout || '[]') as { readonly gateway?: string; readonly via?: { readonly host: string } }[];
  return routes.filter(({ gateway, via }) => (gateway ?? via?.host ?? '').startsWith('fe80::')).length;
}

describe('BFD-026 an unnumbered peer', () => {
  test('BFD-031 BFD runs over link-local addresses, and the log says whether it has real-time priority', async () => {
    await untilUp();
    expect(await herald.agent('node1').waitForLine(/BFD runs/)).toContain('"realTime":true');
    expect(await session()).toMatchObject({ address: expect.stringMatching(/^fe80::/), interface: 'tor1' });
    await lab.until('FRR reports the session up', async (note) => {
      const { stdout } = await lab.router('tor1').exec(['vtysh', '-N', lab.router('tor1').namespace, '-c', 'show bfd peers json']);
      const [found] = note(JSON.parse(stdout) as { readonly peer: string; readonly status: string }[]);
      return found?.peer.startsWith('fe80::') === true && found.status === 'up';
    });
  });

  test('BFD-021 the session and its routes go when the path breaks, and both return when it is healed', async () => {
    const cut = Date.now();
    await lab.cut('node1', 'tor1');
    for (const address of addresses) await lab.until(`tor1 does not route ${address}`, async (note) => note(await hops(address)) === 0);
    console.info(
      `routes over an unnumbered session are gone ${Date.now() - cut} ms after the cut, at ${interval} ms x 3 (polled every few ms)`,
    );
    await lab.until('the agent has closed the session', async (note) => {
      const { state, bfd } = note(await session()) ?? {};
      return state !== 'Established' && bfd?.state === 'Down';
    });
    const healed = Date.now();
    await lab.heal('node1', 'tor1');
    await untilUp(healed);
  });

  test('BFD-022 the peer is found while its session waits for BFD', async () => {
    await herald.write('22-peer.yaml', peer(', bfdStrict: true'));
    herald.agent('node1').kill('SIGKILL');
    await herald.agent('node1').exited;
    const ended = Date.now();
    await herald.startAgent('node1').waitForLine(/agent started/);
    await untilUp(ended);
  });
});
