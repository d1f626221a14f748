import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DirectReturnMode } from '../../../src/model/kinds/types.ts';
import { address, formatAddress, type Family } from '../../../src/net/address.ts';
import { slotOf } from '../../../src/net/connection-hash.ts';
import type { Frontend } from '../../../src/net/frontend.ts';
import { decideForwarding } from '../../../src/decisions/forwarding/plan.ts';
import { until } from '../until.ts';
import { DataPlanes, objects, type ClusterOptions } from './cluster.ts';
import { clientAddress, inside, nodeAddress, nodes, podAddress, ThreeNodes, vip, type Layout, type Machine } from './three-nodes.ts';

const families: readonly Family[] = [4, 6];

/** A pod's answer "pod2 10.89.0.2 43210 1": its name, the client's address and port that it saw, and the octets it received. */
interface PodAnswer {
  readonly pod: string;
  readonly client: string;
  readonly port: number;
  readonly octets: number;
}

const seen = (text: string): PodAnswer => {
  const [pod = '', client = '', port, octets] = text.split(' ');
  return { pod, client, port: Number(port), octets: Number(octets) };
};
const isAlive = ({ pod }: PodAnswer): boolean => pod.startsWith('pod');
const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].toSorted();
const portsOf = (answers: readonly PodAnswer[]): number[] => answers.map(({ port }) => port).toSorted((a, b) => a - b);
const allPods = nodes.map((n) => `pod${n}`);

const setups: readonly (readonly [string, Layout, DirectReturnMode])[] = [
  ['route between nodes on a link', 'link', 'route'],
  ['l2 between nodes on a link', 'link', 'l2'],
  ['vxlan between nodes behind a router', 'routed', 'vxlan'],
];

describe.each(setups)('%s', (_, layout, mode) => {
  let lab: ThreeNodes;
  let planes: DataPlanes;

  beforeAll(async () => {
    lab = await ThreeNodes.start(layout);
    planes = new DataPlanes(layout);
  });

  beforeEach(async () => {
    await lab.ask({ op: 'close' });
    lab.routeTo(1);
    await planes.set({ mode });
  });

  afterAll(async () => {
    await planes.close();
    lab.stop();
  });

  const open = async (family: Family, count: number): Promise<number> => lab.ask({ op: 'open', count, address: vip(family), port: 80 });
  const askAll = async (octets = 1): Promise<PodAnswer[]> => (await lab.ask<string[]>({ op: 'ask', octets })).map(seen);
  const close = async (): Promise<unknown> => lab.ask({ op: 'close' });
  const datagrams = async (family: Family, ports: readonly number[], octets = 1): Promise<PodAnswer[]> =>
    (await lab.ask<string[]>({ op: 'udp', address: vip(family), port: 80, ports, octets })).map(seen);
  const ports = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index);

  test.each(families)('IPv%i: all pods see the address of a TCP client, whichever node its packets arrive at', async (family) => {
    for (const n of nodes) {
      lab.routeTo(n);
      expect(await open(family, 24)).toBe(24);
      const answers = await askAll();
      await close();
      expect(distinct(answers.map(({ client }) => client))).toEqual([clientAddress(family)]);
      expect(distinct(answers.map(({ pod }) => pod))).toEqual(allPods);
    }
  });

  test.each(families)('IPv%i: all pods see the address of a UDP client, and every node chooses the same pod', async (family) => {
    const first = await datagrams(family, ports(20_000, 24));
    expect(distinct(first.map(({ client }) => client))).toEqual([clientAddress(family)]);
    expect(distinct(first.map(({ pod }) => pod))).toEqual(allPods);
    for (const n of [2, 3]) {
      lab.routeTo(n);
      expect(await datagrams(family, ports(20_000, 24))).toEqual(first);
    }
  });

  test.each(families)('IPv%i: direct connections survive moves A to C to B to A between nodes, translated ones do not', async (family) => {
    const survivors = async (options: ClusterOptions): Promise<number[]> => {
      await planes.set(options);
      lab.routeTo(1);
      expect(await open(family, 60)).toBe(60);
      const before = await askAll();
      const counts: number[] = [];
      for (const n of [3, 2, 1]) {
        lab.routeTo(n);
        const after = await askAll();
        counts.push(after.filter(isAlive).length);
        expect(after.filter(isAlive).every((answer) => before.some((one) => one.pod === answer.pod && one.port === answer.port))).toBe(
          true,
        );
      }
      await close();
      return counts;
    };
    const [direct, translated] = [await survivors({ mode }), await survivors({ mode, direct: false })];
    console.log(
      `IPv${family} ${mode}: of 60 connections after each move, direct ${direct.join(', ')}; translated ${translated.join(', ')}`,
    );
    expect(direct).toEqual([60, 60, 60]);
    expect(translated).toEqual([0, 0, 0]);
  });

  test.each(families)('IPv%i: answers do not return through the first node', async (family) => {
    const [table, ip] = [`${family === 4 ? 'ip' : 'ip6'} count`, family === 4 ? 'ip' : 'ip6'];
    const pods = [2, 3].map((n) => podAddress(family, n)).join(',');
    inside('node1', `nft add table ${table}`, `nft add chain ${table} before { type filter hook prerouting priority -400 ; }`);
    inside('node1', `nft add rule ${table} before iifname eth0 ${ip} saddr { ${pods}, ${vip(family)} } counter`);
    const counted = (): number => Number(/packets (\d+)/.exec(inside('node1', `nft list chain ${table} before`))?.[1]);
    try {
      await open(family, 30);
      const answers = await askAll(200_000);
      await close();
      expect(distinct(answers.map(({ pod }) => pod))).toEqual(allPods);
      expect(answers.every(({ octets }) => octets === 200_000)).toBe(true);
      expect(counted()).toBe(0);
      await planes.set({ mode, direct: false });
      await open(family, 30);
      await askAll();
      await close();
      expect(counted()).toBeGreaterThan(0);
    } finally {
      inside('node1', `nft delete table ${table}`);
    }
  });

  test.each(families)('IPv%i: the first node tracks no connection that it passes on', async (family) => {
    inside('node1', 'conntrack -F');
    await open(family, 30);
    const answers = await askAll();
    await close();
    const tracked = inside('node1', `conntrack -L -f ipv${family} -p tcp --orig-dst ${vip(family)}`)
      .split('\n')
      .filter((line) => line.includes('dport=80'));
    expect(tracked.length).toBe(answers.filter(({ pod }) => pod === 'pod1').length);
  });

  test.each(families)('IPv%i: fragmented datagrams arrive whole at the pod, with the client’s address', async (family) => {
    const small = await datagrams(family, ports(21_000, 12));
    const answers = await datagrams(family, ports(21_000, 12), 4_000);
    expect(answers).toEqual(small.map((answer) => ({ ...answer, octets: 4_000 })));
    expect(distinct(answers.map(({ pod }) => pod)).length).toBeGreaterThan(1);
    expect(distinct(answers.map(({ client }) => client))).toEqual([clientAddress(family)]);
  });

  test.each(families)('IPv%i: the segment size fits the path between nodes, and longer packets still arrive', async (family) => {
    await open(family, 12);
    // These sizes come from the handshakes alone: no ICMP error has reported a too long packet yet.
    const sizes = [
      ...inside('client', `ss -${family} -tin state established dst ${family === 4 ? vip(family) : `[${vip(family)}]`}`).matchAll(
        / mss:(\d+)/g,
      ),
    ].map(([, size]) => Number(size));
    expect(sizes).toHaveLength(12);
    // 1500 octets less the headers of IP and TCP with time stamps, and less those of VXLAN.
    const whole = family === 4 ? 1_448 : 1_428;
    expect(distinct(sizes.map(String))).toEqual([String(mode === 'vxlan' ? whole - (family === 4 ? 50 : 70) : whole)]);
    expect((await askAll(300_000)).map(({ octets }) => octets)).toEqual(Array.from({ length: 12 }, () => 300_000));
    // This datagram fits into a packet of the client's link. The first node sends the client an ICMP error if it does not fit into the
    // tunnel.
    const answers = await datagrams(family, ports(23_000, 12), 1_440);
    expect(distinct(answers.map(({ client, octets }) => `${client} ${octets}`))).toEqual([`${clientAddress(family)} 1440`]);
  });

  test.each(families)('IPv%i: long answers fit a narrow link between the router and the client', async (family) => {
    const narrow = `ip -${family} route replace ${clientAddress(family)} dev client`;
    // Narrower than the tunnel, too, which leaves room for 1,450 and 1,430 octets.
    inside('router', `${narrow} mtu lock 1400`);
    try {
      for (const n of nodes) {
        lab.routeTo(n);
        expect(await open(family, 12)).toBe(12);
        expect(await lab.ask<number[]>({ op: 'download', octets: 1_000_000, timeout: 10_000 })).toEqual(
          Array.from({ length: 12 }, () => 1_000_000),
        );
        await close();
        // The first answer is too long for the path. The pod learns it, and sends the next in fragments.
        const request = { op: 'udp', address: vip(family), port: 80, request: 'send 1440', ports: ports(24_000 + n * 100, 12) };
        expect((await lab.ask<string[]>(request)).map((text) => text.length)).toEqual(Array.from({ length: 12 }, () => 1_440));
      }
    } finally {
      inside('router', narrow, `ip -${family} route del ${clientAddress(family)} dev client`);
    }
  });

  test.each(families)('IPv%i: a node that cannot receive gets translated packets', async (family) => {
    await planes.set({ mode, notReceiving: [3] });
    await open(family, 40);
    const answers = await askAll();
    await close();
    const clientsOf = (pod: string): string[] => distinct(answers.filter((answer) => answer.pod === pod).map(({ client }) => client));
    expect([clientsOf('pod1'), clientsOf('pod2'), clientsOf('pod3')]).toEqual([
      [clientAddress(family)],
      [clientAddress(family)],
      [formatAddress(address(nodeAddress(layout, family, 1)))],
    ]);
  });

  test.each(families)('IPv%i: pods and nodes still reach the address', async (family) => {
    for (const machine of ['pod1', 'node2'] as const satisfies readonly Machine[]) {
      const target = { address: vip(family), port: 80 };
      const [, answers] = await ThreeNodes.from<string[]>(machine, { op: 'open', count: 20, ...target }, { op: 'ask' });
      expect(distinct((answers ?? []).map((text) => seen(text).pod))).toEqual(allPods);
    }
  });

  test.each(families)('IPv%i: two nodes that each want to pass packets to the other make no loop', async (family) => {
    // Node 1 believes that the only pod is on node 2, and node 2 believes that it is on node 1.
    await planes.set({ mode, pods: [2] }, [1, 3]);
    await planes.set({ mode, pods: [1] }, [2]);
    const ip = family === 4 ? 'ip' : 'ip6';
    const table = mode === 'vxlan' ? `${ip} count` : 'netdev count';
    /** Counts the client's packets that arrive at one of the two nodes from the other. */
    const passedTo = (n: number): number => Number(/packets (\d+)/.exec(inside(`node${n}`, `nft list chain ${table} before`))?.[1]);
    for (const [n, other] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const from =
        mode === 'vxlan' ? 'iifname herald-vx*' : `ether saddr ${inside(`node${other}`, 'cat /sys/class/net/eth0/address').trim()}`;
      const hook = mode === 'vxlan' ? 'prerouting priority -400' : 'ingress device eth0 priority -20';
      inside(`node${n}`, `nft add table ${table}`, `nft add chain ${table} before { type filter hook ${hook} ; }`);
      inside(`node${n}`, `nft add rule ${table} before ${from} ${ip} daddr ${vip(family)} counter`);
    }
    try {
      const answers = await datagrams(family, [22_000]);
      // Node 2 does not pass on a packet that was passed on to it. It translates the packet.
      expect(answers).toMatchObject([{ pod: 'pod1', client: formatAddress(address(nodeAddress(layout, family, 2))) }]);
      expect(passedTo(2)).toBeGreaterThan(0);
      expect(passedTo(1)).toBe(0);
    } finally {
      for (const n of [1, 2] as const) inside(`node${n}`, `nft delete table ${table}`);
    }
  });

  test.each(families)('IPv%i: when a node is lost and returns, every connection whose slot keeps its pod survives', async (family) => {
    const total = 200;
    expect(await open(family, total)).toBe(total);
    const before = await askAll();
    const table = (options: ClusterOptions): ((port: number) => string) => {
      const snapshot = objects(layout, options);
      const web = snapshot.services.get('default/web');
      const frontends = web === undefined ? [] : (decideForwarding(snapshot, web, 'node1').forwarding?.frontends ?? []);
      const { slots, backends } = frontends.find(
        ({ match, scope }) =>
          scope === 'external' && match.kind === 'address' && match.protocol === 'TCP' && match.address.family === family,
      ) as Frontend;
      if (slots === undefined) throw new Error('no slots');
      const client = address(clientAddress(family));
      return (port) => {
        const backend = backends[slots.backendOf[slotOf(slots.hashed, client, port, slots.backendOf.length)] ?? 0];
        return `pod${nodes.find((n) => backend?.node !== undefined && backend.node.value === address(nodeAddress(layout, family, n)).value)}`;
      };
    };
    const [whole, without] = [table({ mode }), table({ mode, pods: [1, 2] })];
    // The kernel chose the pods that the tables name.
    expect(before.map(({ port }) => whole(port))).toEqual(before.map(({ pod }) => pod));
    lab.routeTo(3);
    expect((await askAll()).filter(isAlive)).toHaveLength(total);
    lab.cut(3);
    lab.routeTo(1);
    await planes.set({ mode, pods: [1, 2] }, [1, 2]);
    const staying = before.filter(({ port }) => whole(port) !== 'pod3' && whole(port) === without(port));
    const lost = await askAll();
    const afterLoss = lost.filter(isAlive);
    lab.heal(3);
    await planes.set({ mode });
    const back = (await askAll()).filter(isAlive);
    await close();
    const onThree = before.filter(({ pod }) => pod === 'pod3').length;
    console.log(
      `IPv${family} ${mode}: of ${total} connections ${onThree} were on the lost node; ${afterLoss.length} survived its loss, ${back.length} its return`,
    );
    expect(portsOf(afterLoss)).toEqual(portsOf(staying));
    // A connection whose slot returns to the pod that had it before is still served by that pod.
    expect(portsOf(back)).toEqual(portsOf(staying));
    expect(afterLoss.length).toBeGreaterThan((total - onThree) * 0.85);
  });

  test('an agent that restarts adopts rules and routes and loses no connection', async () => {
    await open(4, 30);
    await open(6, 30);
    // The listing includes handles, because a table that was created again has another handle. The netdev table is created again at every
    // start.
    const tables = (): string => ['ip', 'ip6'].map((family) => inside('node1', `nft -a list tables ${family}`)).join('');
    const state = (): string =>
      `${inside('node1', 'ip rule')}${inside('node1', 'ip -6 rule')}${inside('node1', 'ip route show table all proto 152')}${tables()}`;
    const before = state();
    await planes.restart(1, { mode });
    expect(state()).toBe(before);
    expect((await askAll()).filter(isAlive)).toHaveLength(60);
    await close();
  });

  test('removed rules, routes and links are restored, and meanwhile no packet goes astray', async () => {
    const ours = (): string =>
      [
        'ip rule',
        'ip -6 rule',
        'ip route show table all proto 152',
        'ip -6 route show table all proto 152',
        'ip -br -o link',
        'nft list tables netdev',
      ]
        .flatMap((command) => inside('node1', command).split('\n'))
        .filter((line) => /proto 152|default via|herald/.test(line))
        .map((line) => line.replace(/\s+/g, ' '))
        .toSorted()
        .join('\n');
    const before = ours();
    for (const family of families) {
      const lines = inside('node1', `ip -${family} rule`)
        .split('\n')
        .filter((line) => line.includes('lookup') && line.includes('proto 152'));
      for (const line of lines) inside('node1', `ip -${family} rule del pref ${line.split(':')[0]}`);
    }
    if (mode === 'vxlan') inside('node1', 'ip link del herald-vx4');
    if (mode === 'l2') inside('node1', 'nft delete table netdev herald_direct');
    expect(ours()).not.toBe(before);
    // The agent looks for missing parts every ten seconds. It runs in this process, which has no time for it while it polls.
    await until('all rules, routes and links are restored', async (note) => {
      await sleep(1_000);
      return note(ours()) === before;
    });
    await open(4, 24);
    expect(distinct((await askAll()).map(({ client }) => client))).toEqual([clientAddress(4)]);
  });

  test('cleanup leaves nothing of Herald in the kernel', async () => {
    await planes.cleanup(1);
    expect(
      inside('node1', 'ip rule')
        .split('\n')
        .filter((line) => line.includes('proto 152')),
    ).toEqual([]);
    expect(
      inside('node1', 'ip -6 rule')
        .split('\n')
        .filter((line) => line.includes('proto 152')),
    ).toEqual([]);
    expect(inside('node1', 'ip route show table all proto 152') + inside('node1', 'ip -6 route show table all proto 152')).toBe('');
    expect(inside('node1', 'ip -o link')).not.toContain('herald');
    expect(inside('node1', 'nft list tables')).not.toContain('herald');
  });
});
