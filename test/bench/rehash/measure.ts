import { examples, HeraldInLab } from '../../lab/herald.ts';
import { Lab } from '../../lab/lab.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from '../../lab/routes.ts';
import { standardTopology } from '../../lab/standard-topology.ts';
import { cluster, lostNode, nodes, pods, services, slices, variants } from '../../lab/balanced-cluster.ts';
import { HeldConnections } from './held-connections.ts';

export interface Row {
  readonly balancing: 'direct server return, consistent hashing' | 'translation, random choice';
  readonly pods: 'on all nodes' | 'not on the lost node';
  readonly family: 4 | 6;
  /** Connections opened with all nodes up, those alive after one node was lost, and those alive after it returned. */
  readonly opened: number;
  readonly afterLoss: number;
  readonly afterReturn: number;
  /** Connections opened while the node was away, and those of them alive after it returned. */
  readonly openedAway: number;
  readonly awayAfterReturn: number;
}

const tors = ['tor1', 'tor2'];
const patience = 120_000;

/**
 * Loses one of three nodes under open connections and brings it back, for every variant at once: all meet the same routers at the same
 * moment.
 */
export async function measureRehash(count: number, note: (text: string) => void): Promise<Row[]> {
  await using lab = await Lab.start(standardTopology({ pods }));
  const herald = await HeraldInLab.prepare(lab, examples, ['20-herald.yaml']);
  await herald.write('10-cluster.yaml', cluster(lab));
  await herald.write('30-services.yaml', services());
  await herald.write('31-slices.yaml', slices(lab, nodes));
  await herald.start(nodes);
  const addresses = new Map<string, readonly string[]>();
  for (const { name } of variants) addresses.set(name, await herald.untilAssigned(`shop/${name}`, 2));
  const untilVia = async (via: readonly string[]): Promise<void> => {
    for (const address of [...addresses.values()].flat()) {
      for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), patience);
      await untilSpineRoutes(lab, address);
    }
  };
  await untilVia(nodes);
  await untilDirect(lab, addresses);
  const connections = new HeldConnections(lab.machine('client').namespace);
  try {
    const opened = await openAll(connections, addresses, count, 'before');
    const atFirst = await connections.alive();
    note(`${sum(opened)} connections are open, ${sum(atFirst)} are answered`);

    // The link is cut before the process is killed, because a dead node sends no goodbye to its peers.
    await lab.cut(lostNode);
    herald.agent(lostNode).kill('SIGKILL');
    await untilVia(nodes.filter((node) => node !== lostNode));
    await herald.write(
      '31-slices.yaml',
      slices(
        lab,
        nodes.filter((node) => node !== lostNode),
      ),
    );
    await untilNoRulesFor(lab, lostNode);
    const afterLoss = await connections.alive();
    note(`${lostNode} is lost: ${sum(afterLoss)} are answered`);

    const openedAway = await openAll(connections, addresses, count, 'away');
    await connections.alive();

    // The node returns as after a boot: nothing in its kernel, and new pods.
    const machine = lab.node(lostNode);
    await machine.exec(['conntrack', '-F'], { check: false });
    await machine.exec(['nft', 'flush', 'ruleset']);
    await Promise.all(pods.filter(({ node }) => node === lostNode).map(({ name }) => lab.pod(name).restart()));
    await lab.heal(lostNode);
    await herald.startAgent(lostNode).waitForLine(/agent started/, patience);
    await herald.write('31-slices.yaml', slices(lab, nodes));
    await untilVia(nodes);
    await untilDirect(lab, addresses);
    const afterReturn = await connections.alive();
    note(`${lostNode} is back: ${sum(afterReturn)} are answered`);

    return variants.flatMap(({ name, direct, everywhere }) =>
      ([4, 6] as const).map((family): Row => {
        const of = (counts: ReadonlyMap<string, number>, when: string): number => counts.get(groupName(name, family, when)) ?? 0;
        return {
          balancing: direct ? 'direct server return, consistent hashing' : 'translation, random choice',
          pods: everywhere ? 'on all nodes' : 'not on the lost node',
          family,
          opened: of(atFirst, 'before'),
          afterLoss: of(afterLoss, 'before'),
          afterReturn: of(afterReturn, 'before'),
          openedAway: of(openedAway, 'away'),
          awayAfterReturn: of(afterReturn, 'away'),
        };
      }),
    );
  } finally {
    connections.end();
  }
}

const groupName = (variant: string, family: 4 | 6, when: string): string => `${variant} ${family} ${when}`;
const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((total, each) => total + each, 0);

async function openAll(
  connections: HeldConnections,
  addresses: ReadonlyMap<string, readonly string[]>,
  count: number,
  when: string,
): Promise<ReadonlyMap<string, number>> {
  const opened = new Map<string, number>();
  for (const [variant, list] of addresses) {
    for (const address of list) {
      const group = groupName(variant, address.includes(':') ? 6 : 4, when);
      opened.set(group, await connections.open(group, address, 80, count));
    }
  }
  return opened;
}

/** Waits until every node passes packets on unchanged: pods behind Services with direct server return see the client and no node. */
async function untilDirect(lab: Lab, addresses: ReadonlyMap<string, readonly string[]>): Promise<void> {
  for (const { name } of variants.filter(({ direct }) => direct)) {
    for (const address of addresses.get(name) ?? []) {
      await lab.until(
        `pods behind ${address} see only the client`,
        async (note) => {
          const { clients, failed } = note(await lab.client.tcp({ address, port: 80, count: 60 }));
          return failed === 0 && clients.length === 1;
        },
        patience,
      );
    }
  }
}

/** Waits until the rules of the remaining nodes lead to no pod of the lost one. */
async function untilNoRulesFor(lab: Lab, node: string): Promise<void> {
  const gone = pods.filter((pod) => pod.node === node).flatMap(({ name }) => Object.values(lab.pod(name).address));
  for (const other of nodes.filter((name) => name !== node)) {
    await lab.until(
      `the rules of ${other} lead to no pod of ${node}`,
      async () => {
        const maps = await Promise.all(
          ['ip', 'ip6'].map((family) => lab.node(other).exec(['nft', 'list', 'map', family, 'herald', 'backends'])),
        );
        return maps.every(({ stdout }) => gone.every((address) => !stdout.includes(` ${String(address)} `)));
      },
      patience,
    );
  }
}
