import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodes, pods, services, slices } from '../balanced-cluster.ts';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { untilNextHops, viaNodes } from '../routes.ts';
import { standardTopology } from '../standard-topology.ts';

/**
 * Direct server return by VXLAN between nodes whose InternalIP is on no link and whose links have other addresses. Packets of the tunnel
 * must keep the InternalIP as their source. A translation would give them another source, and over IPv6 a wrong checksum.
 */
let lab: Lab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods }));
  const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.write('30-services.yaml', services());
  await herald.write('31-slices.yaml', slices(lab, nodes));
  await herald.start(nodes);
  addresses = await herald.untilAssigned('shop/direct-all', 2);
  for (const address of addresses)
    for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address), 60_000);
}, 180_000);

afterAll(async () => {
  await lab?.stop();
});

interface Listed {
  readonly nftables: readonly { readonly counter?: { readonly name: string; readonly packets: number } }[];
}

/** Counts the tunnel packets that arrived at the nodes: all of them, and those whose source is no InternalIP. */
async function tunnelled(): Promise<{ readonly arrived: number; readonly astray: number }> {
  const sum = { arrived: 0, astray: 0 };
  for (const name of nodes) {
    const { nftables } = JSON.parse((await lab.node(name).exec(['nft', '-j', 'list', 'table', 'inet', 'seen'])).stdout) as Listed;
    for (const { counter } of nftables) if (counter !== undefined) sum[counter.name as keyof typeof sum] += counter.packets;
  }
  return sum;
}

test.each([4, 6] as const)('IPv%i: every node reaches every pod, and the pods see the client', { timeout: 240_000 }, async (family) => {
  const address = addresses.find((one) => one.includes(':') === (family === 6)) ?? '';
  const ip = family === 4 ? 'ip' : 'ip6';
  const sources = nodes.map((name) => lab.node(name).plan.internal[`ipv${family}`]).join(', ');
  for (const name of nodes) {
    const table = `table inet seen {
  counter arrived {}
  counter astray {}
  chain arriving {
    type filter hook prerouting priority -400;
    meta nfproto ipv${family} udp dport 4789 counter name arrived
    ${ip} saddr != { ${sources} } udp dport 4789 counter name astray
  }
}
`;
    await lab.node(name).exec(['nft', '-f', '-'], { input: table });
  }
  await lab.until(
    'every pod answers and sees only the client',
    async (note) => {
      const { clients, failed, pods: answered } = note(await lab.client.tcp({ address, port: 80, count: 200, timeoutMs: 10_000 }));
      return failed === 0 && clients.length === 1 && Object.keys(answered).length === pods.length;
    },
    120_000,
  );
  const { arrived, astray } = await tunnelled();
  expect(arrived).toBeGreaterThan(0);
  expect(astray).toBe(0);
  for (const name of nodes) await lab.node(name).exec(['nft', 'delete', 'table', 'inet', 'seen']);
});
