import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type Machine } from './lab.ts';
import { untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * Under policy Local, node1 always has an endpoint. node2 gains and loses one again and again while a client sends requests. The kernel of
 * node2 counts packets to the Service that no rule translates. There must be none, neither when routers already send to node2 nor when they
 * still do.
 */
const rounds = 5;
const tors = ['tor1', 'tor2'];
const phases = {
  absent: undefined,
  ready: { ready: true, serving: true, terminating: false },
  terminating: { ready: false, serving: true, terminating: true },
} as const;
type Phase = keyof typeof phases;

let lab: Lab;
let herald: HeraldInLab;
let node2: Machine;
let addresses: readonly string[];

beforeAll(async () => {
  const pods = ['node1', 'node2'].map((node, index) => ({ name: `web-${index + 1}`, node }));
  lab = await Lab.start(standardTopology({ nodes: 2, pods }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  node2 = lab.node('node2');
  await herald.write('30-service.yaml', manifest);
  await setPhase('absent');
  await herald.start(['node1', 'node2']);
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilVia('node1');
  await count();
  // Requests from tor1 itself go to node2, whatever BGP says.
  for (const [index, address] of addresses.entries()) {
    const family = index === 0 ? '-4' : '-6';
    await lab
      .router('tor1')
      .exec(['ip', family, 'route', 'add', address, 'via', viaNodes('tor1', ['node2'], address)[0] ?? '', 'table', '77']);
    await lab.router('tor1').exec(['ip', family, 'rule', 'add', 'iif', 'lo', 'to', address, 'lookup', '77', 'pref', '77']);
  }
});

afterAll(async () => {
  await lab?.stop();
});

const manifest = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: web }
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.40, "fd00:96::40"]
  ports: [{ name: http, protocol: TCP, port: 80, targetPort: 8080 }]
`;

/** Moves node2's endpoint to a phase. */
async function setPhase(phase: Phase): Promise<void> {
  const slices = (['ipv4', 'ipv6'] as const).map((family) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: `web-${family}`, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: [
      { addresses: [lab.pod('web-1').address[family]], nodeName: 'node1', conditions: phases.ready },
      ...(phases[phase] === undefined
        ? []
        : [{ addresses: [lab.pod('web-2').address[family]], nodeName: 'node2', conditions: phases[phase] }]),
    ],
  }));
  await herald.write('31-slices.yaml', slices.map((slice) => JSON.stringify(slice)).join('\n---\n'));
}

async function untilVia(...nodes: readonly string[]): Promise<void> {
  for (const address of addresses) for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address), 60_000);
}

/**
 * Counts packets to the Service before translation, and SYNs that are still addressed to the Service after it. Answers and packets to other
 * addresses do not count. The end of a connection that routers moved here does not count either: the kernel translates no FIN of a
 * connection that it has not seen.
 */
async function count(): Promise<void> {
  const [ipv4, ipv6] = addresses;
  const rules = (which: string): string => `ip daddr ${ipv4} tcp dport 80 ${which} counter
    ip6 daddr ${ipv6} tcp dport 80 ${which} counter
`;
  await node2.exec(['nft', '-f', '-'], {
    input: `table inet order {
  chain arrives { type filter hook prerouting priority -400; ${rules('')} }
  chain untranslated { type filter hook forward priority -200; ${rules('tcp flags & (syn | ack) == syn')} }
}
`,
  });
}

/** Returns the counts of IPv4 and IPv6. */
async function counted(chain: 'arrives' | 'untranslated'): Promise<number[]> {
  const { stdout } = await node2.exec(['nft', 'list', 'chain', 'inet', 'order', chain]);
  return [...stdout.matchAll(/packets (\d+)/g)].map(([, packets]) => Number(packets));
}

/** Returns true if the rules of node2 lead to its own endpoint. */
async function forwards(family: 'ip' | 'ip6'): Promise<boolean> {
  const { stdout } = await node2.exec(['nft', 'list', 'map', family, 'herald', 'backends_local']);
  return stdout.includes(lab.pod('web-2').address[family === 'ip' ? 'ipv4' : 'ipv6']);
}

test(`no packet arrives untranslated while node2 gains and loses its only endpoint ${rounds} times`, { timeout: 600_000 }, async () => {
  const everywhere = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 5, timeoutMs: 15_000 }));
  let answeredAfterwards = 0;
  for (let round = 0; round < rounds; round++) {
    await setPhase('ready');
    await untilVia('node1', 'node2');
    const before = await counted('arrives');
    await lab.until('requests of both families reach node2', async (note) =>
      note(await counted('arrives')).every((n, i) => n > (before[i] ?? 0) + 20),
    );
    await setPhase('terminating');
    await untilVia('node1');
    // Routers have stopped sending to node2, but its rules are still there. A request that still arrives is served.
    const through = addresses.map((address) => lab.clientIn('tor1').probe({ protocol: 'tcp', address, port: 80, timeoutMs: 15_000 }));
    await lab.until('node2 serves the requests that still arrive', () =>
      through.every(({ outcomes }) => outcomes.filter(({ ok }) => ok).length >= 20),
    );
    expect([await forwards('ip'), await forwards('ip6')]).toEqual([true, true]);
    for (const probe of through) {
      const { errors, pods } = await probe.stop();
      expect(errors).toEqual({});
      expect(Object.keys(pods)).toEqual(['web-2']);
      answeredAfterwards += pods['web-2'] ?? 0;
    }
    await setPhase('absent');
    await lab.until('the rules of node2 are gone', async () => !(await forwards('ip')) && !(await forwards('ip6')));
    for (const tor of tors) for (const address of addresses) await untilNoPath(tor, address);
  }
  const reports = await Promise.all(everywhere.map((probe) => probe.stop()));
  const [arrived, untranslated] = [await counted('arrives'), await counted('untranslated')];
  console.log(
    `${rounds} times: ${arrived.join(' and ')} packets to the Service arrived at node2 (IPv4 and IPv6), ${untranslated.join(' and ')} found no rule; ` +
      `${answeredAfterwards} requests were answered there after routers had stopped sending;` +
      `of ${reports.map(({ outcomes }) => outcomes.length).join(' and ')} of the client's, ${reports.map(({ failed }) => failed).join(' and ')} failed`,
  );
  expect(arrived.every((packets) => packets > 20 * rounds)).toBe(true);
  expect(untranslated).toEqual([0, 0]);
  // Only connections that were open when a router changed its choice can move to another node.
  for (const { errors } of reports) expect(Object.keys(errors).filter((error) => error !== 'ECONNRESET' && error !== 'CLOSED')).toEqual([]);
});

/** Waits until the ToR has no path over node2, used or not. */
async function untilNoPath(tor: string, address: string): Promise<void> {
  const [family, length] = address.includes(':') ? ['ipv6', 128] : ['ipv4', 32];
  const [hop = ''] = viaNodes(tor, ['node2'], address);
  await lab.until(`${tor} has no path over node2`, async (note) => {
    const told = await lab.router(tor).ask(`show bgp ${family} unicast ${address}/${length} json`);
    return !note(told).includes(`"${hop}"`);
  });
}
