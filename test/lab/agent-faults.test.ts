import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { nextHops, untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

const nodes = ['node1', 'node2', 'node3'];
let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
});

afterAll(async () => {
  await lab?.stop();
});

describe('another program removes the rules', () => {
  // From Linux 6.9 on the tables belong to the agent, and nft may fail; before, they are restored.
  test.each(['flush ruleset', 'delete table ip herald'])('nft %s: they are there afterwards, and requests succeed', async (command) => {
    const [address = ''] = await herald.untilAssigned('shop/web', 2);
    await untilNextHops(lab, 'tor1', address, viaNodes('tor1', nodes, address));
    await lab.node('node1').exec(['sh', '-c', `nft ${command} || true`]);
    await lab.until('node1 has rules for the address again', async (note) => {
      const { stdout } = await lab.node('node1').exec(['nft', 'list', 'ruleset']);
      return note(stdout.includes(address));
    });
    const { errors } = await lab.client.tcp({ address, port: 80, count: 30, parallel: 4 });
    expect(errors).toEqual({});
  });
});

describe('a peer is shut down', () => {
  test('adminDown ends the session with the text, the others stay, and it comes back', async () => {
    const [address = ''] = await herald.untilAssigned('shop/web', 2);
    await herald.edit('20-herald.yaml', (text) =>
      text.replace('peerAddress: 10.1.0.1,', 'peerAddress: 10.1.0.1, adminDown: true, shutdownMessage: "maintenance of rack a",'),
    );
    // There may be the way over the spine and the other switch, which is nothing of the nodes' doing.
    const direct = viaNodes('tor1', nodes, address);
    await lab.until('tor1 sends to no node any more', async (note) => {
      const hops = note(await nextHops(lab, 'tor1', address));
      return direct.every((hop) => !hops.includes(hop));
    });
    await untilNextHops(lab, 'tor2', address, viaNodes('tor2', nodes, address));
    // The nodes report it a moment after they have withdrawn.
    await lab.until('it is explained', async (note) =>
      /not announced to tor1-v4: the session with "tor1-v4" is Idle: administratively down/.test(note(await herald.explain('shop/web'))),
    );
    await herald.edit('20-herald.yaml', (text) => text.replace(' adminDown: true, shutdownMessage: "maintenance of rack a",', ''));
    await untilNextHops(lab, 'tor1', address, direct);
  });
});

describe('both families over one session', () => {
  test('IPv6 routes go out over an IPv4 session with the IPv6 address of the node as next hop', async () => {
    const address = (await herald.untilAssigned('shop/web', 2))[1] ?? '';
    await herald.edit('20-herald.yaml', (text) =>
      text
        .split('\n---\n')
        .filter((document) => !document.includes('name: tor1-v6'))
        .join('\n---\n')
        .replace('peerAddress: 10.1.0.1,', 'peerAddress: 10.1.0.1, dualStackAddressFamily: true,'),
    );
    await lab.until('tor1 has the IPv6 route from every node', async (note) => {
      const { paths = [] } = await lab
        .router('tor1')
        .show<{ paths?: { nexthops: { ip: string }[] }[] }>(`show bgp ipv6 unicast ${address}/128 json`);
      // The way over the spine and the other switch may be among them.
      const hops = note(paths.flatMap(({ nexthops }) => nexthops.map(({ ip }) => ip)));
      return ['fd00::11', 'fd00::12', 'fd00::13'].every((hop) => hops.includes(hop));
    });
  });
});
