import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { bestPath, nextHops, untilNextHops, viaNodes } from './routes.ts';
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

describe('rules removed by another program', () => {
  // From Linux 6.9 on the tables belong to the agent and nft may fail. On older kernels the agent restores the tables.
  test.each(['flush ruleset', 'delete table ip herald'])(
    'the agent keeps or restores the rules after nft %s, and requests succeed',
    async (command) => {
      const [address = ''] = await herald.untilAssigned('shop/web', 2);
      await untilNextHops(lab, 'tor1', address, viaNodes('tor1', nodes, address));
      await lab.node('node1').exec(['sh', '-c', `nft ${command} || true`]);
      await lab.until('node1 has rules for the address again', async (note) => {
        const { stdout } = await lab.node('node1').exec(['nft', 'list', 'ruleset']);
        return note(stdout.includes(address));
      });
      const { errors } = await lab.client.tcp({ address, port: 80, count: 30, parallel: 4 });
      expect(errors).toEqual({});
    },
  );
});

describe('a peer with adminDown', () => {
  test('adminDown ends one session with its text, others stay, and it returns without adminDown', async () => {
    const [address = ''] = await herald.untilAssigned('shop/web', 2);
    await herald.edit('20-herald.yaml', (text) =>
      text.replace('peerAddress: 10.1.0.1,', 'peerAddress: 10.1.0.1, adminDown: true, shutdownMessage: "maintenance of rack a",'),
    );
    // tor1 may still have the path through the spine and tor2, which does not depend on the nodes' sessions with tor1.
    const direct = viaNodes('tor1', nodes, address);
    await lab.until('tor1 sends to no node directly', async (note) => {
      const hops = note(await nextHops(lab, 'tor1', address));
      return direct.every((hop) => !hops.includes(hop));
    });
    await untilNextHops(lab, 'tor2', address, viaNodes('tor2', nodes, address));
    // The nodes report the withdrawal a moment after it.
    await lab.until('explain names the administrative shutdown', async (note) =>
      /not announced to tor1-v4: BGPPeer "tor1-v4" has adminDown: true/.test(note(await herald.explain('shop/web'))),
    );
    await herald.edit('20-herald.yaml', (text) => text.replace(' adminDown: true, shutdownMessage: "maintenance of rack a",', ''));
    await untilNextHops(lab, 'tor1', address, direct);
  });
});

describe('both families over one session', () => {
  test('IPv6 routes of an IPv4 session have a next hop on the link, and clients connect where the InternalIP is out of reach', async () => {
    const address = (await herald.untilAssigned('shop/web', 2))[1] ?? '';
    const internal = ['fd00::11', 'fd00::12', 'fd00::13'];
    for (const tor of ['tor1', 'tor2'])
      await lab.router(tor).exec(['sh', '-c', internal.map((one) => `ip -6 route replace unreachable ${one}/128 metric 1`).join('; ')]);
    await herald.edit('20-herald.yaml', (text) =>
      text
        .split('\n---\n')
        .filter((document) => !document.includes('name: tor1-v6') && !document.includes('name: tor2-v6'))
        .join('\n---\n')
        .replace('peerAddress: 10.1.0.1,', 'peerAddress: 10.1.0.1, dualStackAddressFamily: true,')
        .replace('peerAddress: 10.2.0.1,', 'peerAddress: 10.2.0.1, dualStackAddressFamily: true,'),
    );
    for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
    await lab.until('tor1 has a best path', async (note) => note(await bestPath(lab, 'tor1', address)) !== undefined);
    // While the paths of the ended sessions go, routers move connections to other nodes.
    await lab.until('every client connects', async (note) => {
      const { errors } = note(await lab.client.tcp({ address, port: 80, count: 30, parallel: 4 }));
      return Object.keys(errors).length === 0;
    });
  });
});

describe('an agent that is killed', () => {
  test('a killed agent is named at once, and nothing is said to go by its node', async () => {
    await herald.untilAssigned('shop/web', 2);
    await lab.until(
      'node3 announces',
      async (note) =>
        note(await herald.explain('shop/web'))
          .split('\n')[0]
          ?.includes('node3') === true,
    );
    const agent = herald.agent('node3');
    agent.kill('SIGKILL');
    await agent.exited;
    const { stdout } = await herald.run('status', '--problems', '--source', herald.directory);
    expect(stdout).toMatch(/no agent reports for node "node3"/i);
    const first = (await herald.explain('shop/web')).split('\n').find((line) => /via|[Ss]erved|Announced/.test(line));
    expect(first).toBeDefined();
    expect(first).not.toMatch(/via [^.;]*node3/);
  });
});
