import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

/** Sessions whose source is the address of an interface of the node, with FRR, which takes connections from that address only. */
const routers = { 4: '10.1.0.1', 6: 'fd00:1::1' } as const;
const dummies = { 4: '10.98.0.1', 6: 'fd98::1' } as const;
const families = [4, 6] as const;
let lab: Lab;
let herald: HeraldInLab;

const peer = (family: 4 | 6, sourceInterface: string): string => `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1-v${family} }
spec: { myASN: 64512, peerASN: 65101, peerAddress: "${routers[family]}", ebgpMultiHop: true, sourceInterface: ${sourceInterface}, connectTime: 1s, nodeSelectors: [{ matchLabels: { only: here } }] }
`;

const loopback = (family: 4 | 6): string => {
  const { internal } = lab.node('node1').plan;
  return family === 4 ? internal.ipv4 : internal.ipv6;
};

async function usePeers(sourceInterface: string): Promise<void> {
  await herald.write('20-peers.yaml', families.map((family) => peer(family, sourceInterface)).join('---\n'));
}

/** The address of the node in FRR's established session. */
async function established(address: string): Promise<unknown> {
  const [found] = Object.values(
    await lab.router('tor1').show<Record<string, Record<string, unknown>>>(`show bgp neighbors ${address} json`),
  );
  return found?.['bgpState'] === 'Established' ? found['hostForeign'] : found?.['bgpState'];
}

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [], nodes: 1 }));
  const { uplinks } = lab.node('node1').plan;
  const uplink = uplinks.get('tor1');
  await lab
    .node('node1')
    .ip(
      'link add vd type veth peer name ve',
      'link set ve up',
      'link set vd up',
      `addr add ${dummies[4]}/32 dev vd`,
      `addr add ${dummies[6]}/128 dev vd nodad`,
    );
  await lab.machine('tor1').exec(['ip', 'route', 'add', dummies[4], 'via', uplink?.ipv4 ?? '']);
  await lab.machine('tor1').exec(['ip', 'route', 'add', dummies[6], 'via', uplink?.ipv6 ?? '']);
  for (const family of families) {
    const own = [loopback(family), dummies[family]];
    await lab
      .router('tor1')
      .configure(['router bgp 65101', ...own.flatMap((one) => [`neighbor ${one} remote-as 64512`, `neighbor ${one} ebgp-multihop 2`])]);
    await lab
      .router('tor1')
      .configure(['router bgp 65101', `address-family ipv${family} unicast`, ...own.map((one) => `neighbor ${one} activate`)]);
  }
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml']);
  await herald.edit('10-cluster.yaml', (text) => text.replace('name: node1, labels: {', 'name: node1, labels: { only: here,'));
  await usePeers('lo');
  herald.startController();
  await herald.startAgent('node1').waitForLine(/agent started/);
});

afterAll(async () => {
  await lab?.stop();
});

describe('sourceInterface', () => {
  test.each(families)('the IPv%d session comes from the address of the loopback', async (family) => {
    await lab.until('FRR has the session', async (note) => note(await established(loopback(family))) === loopback(family));
  });

  test('a change of the interface moves both sessions to the address of the other one', async () => {
    await usePeers('vd');
    for (const family of families) {
      await lab.until('FRR has the session', async (note) => note(await established(dummies[family])) === dummies[family]);
      expect(await established(loopback(family))).not.toBe(loopback(family));
    }
  });

  test('an interface that the node lacks is the reason of both sessions', async () => {
    await usePeers('none9');
    await lab.until('the report has the reason', async (note) => {
      const codes = note((await herald.sessions('node1')).map((session) => JSON.stringify(session)));
      return codes.length === 2 && codes.every((text) => text.includes('PeerSourceMissing') && text.includes('none9'));
    });
  });
});
