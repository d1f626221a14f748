import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../lab/command.ts';
import { ip, inNamespace } from '../lab/namespace.ts';
import { LocalReceiver, LocalSender, Wire } from './sockets.ts';
import { decodePacket, decodeSegment, encodePacket, familyOf, type Packet, type Sighting } from './wire.ts';

/** Where a packet enters the node: from a pod's link, from outside, or from the node's own programs. */
export type Entry = 'pods' | 'outside' | 'node';

export interface Sent extends Packet {
  readonly entry: Entry;
}

const hardware = {
  node: { pods: '02:00:00:00:00:01', outside: '02:00:00:00:00:02' },
  world: { pods: '02:00:00:00:01:01', outside: '02:00:00:00:01:02' },
};

/** Addresses of the node, the primary one first. Programs of the node may send from any of them. */
export const nodeAddresses = {
  4: ['10.99.0.1', '10.99.0.8', ...Array.from({ length: 8 }, (_, index) => `10.99.0.${40 + index}`)],
  6: ['fd99::1', 'fd99::8', ...Array.from({ length: 8 }, (_, index) => `fd99::${40 + index}`)],
} as const;
/** Addresses of pods on this node, behind its pod link. All other addresses are outside. */
export const podRanges = { 4: '10.160.0.0/11', 6: 'fd01:0:0:1::/64' } as const;

/**
 * A node, and one other machine at the end of both of its wires that plays all pods, clients and other nodes. It sends packets with any
 * source and observes what leaves the node. Nothing replies, so one packet is a complete test.
 */
export class Stand {
  /** The network namespace of the node. */
  readonly namespace: string;
  readonly #world: string;
  readonly #wires: Readonly<Record<'pods' | 'outside', Wire>>;
  readonly #sender: LocalSender;
  readonly #receivers: readonly LocalReceiver[];

  private constructor(name: string) {
    this.namespace = `${name}-node`;
    this.#world = `${name}-world`;
    const wire = (link: 'pods' | 'outside'): Wire => new Wire(this.#world, link, hardware.world[link], hardware.node[link]);
    this.#wires = { pods: wire('pods'), outside: wire('outside') };
    this.#sender = new LocalSender(this.namespace);
    this.#receivers = ([4, 6] as const).flatMap((family) =>
      [6, 17, 132, family === 4 ? 1 : 58].map((protocol) => new LocalReceiver(this.namespace, family, protocol)),
    );
  }

  static async start(side: string): Promise<Stand> {
    const name = `hl-kp-${process.pid}-${side}`;
    await makeNamespaces(name);
    return new Stand(name);
  }

  /** Sends packets. Returns by id where each was seen; an empty list means nowhere. */
  async send(packets: readonly Sent[]): Promise<ReadonlyMap<number, readonly Sighting[]>> {
    this.#drain(new Map());
    const seen = new Map<number, Sighting[]>(packets.map(({ id }) => [id, []]));
    for (const [index, packet] of packets.entries()) {
      const family = familyOf(packet.destination);
      const bytes = encodePacket(packet);
      if (packet.entry === 'node') this.#sender.send(bytes, family, packet.destination);
      else this.#wires[packet.entry].send(bytes, family);
      if (index % 32 === 0) this.#drain(seen);
    }
    // The kernel usually forwards a packet while it is sent, but may leave some work to a thread.
    for (let quiet = 0; quiet < 3; quiet++) {
      await sleep(5);
      if (this.#drain(seen) > 0) quiet = 0;
    }
    return seen;
  }

  /** Deletes all conntrack entries. Reused ports would otherwise follow earlier decisions. */
  async forgetFlows(): Promise<void> {
    await run(inNamespace(this.namespace, ['conntrack', '-F']));
  }

  stop(): void {
    for (const socket of [this.#wires.pods, this.#wires.outside, this.#sender, ...this.#receivers]) socket.close();
    for (const name of [this.namespace, this.#world]) removeNamespace(name);
  }

  /** Reads all received packets and returns their number. */
  #drain(seen: Map<number, Sighting[]>): number {
    let count = 0;
    const note = (sighting: Sighting | undefined): void => {
      count++;
      if (sighting !== undefined) seen.get(sighting.id)?.push(sighting);
    };
    for (const wire of [this.#wires.pods, this.#wires.outside]) {
      for (let packet = wire.receive(); packet !== undefined; packet = wire.receive()) note(decodePacket(packet));
    }
    for (const receiver of this.#receivers) {
      for (let got = receiver.receive(); got !== undefined; got = receiver.receive()) {
        note('packet' in got ? decodePacket(got.packet) : decodeSegment(got.protocol, got.segment, got.source, got.destination));
      }
    }
    return count;
  }
}

const settings = [
  'net.ipv4.ip_forward=1',
  'net.ipv6.conf.all.forwarding=1',
  'net.ipv4.conf.all.rp_filter=0',
  'net.ipv4.conf.default.rp_filter=0',
  'net.ipv4.conf.all.send_redirects=0',
  'net.ipv4.conf.default.send_redirects=0',
  'net.ipv6.conf.all.accept_dad=0',
  'net.ipv6.conf.default.accept_dad=0',
  // Refusals are compared, so none of them may be lost to a rate limit.
  'net.ipv4.icmp_ratemask=0',
  'net.ipv6.icmp.ratelimit=0',
  'net.ipv6.icmp.ratemask=255',
];

async function makeNamespaces(name: string): Promise<void> {
  removeLeftoverNamespaces();
  const [node, world] = [`${name}-node`, `${name}-world`];
  await ip([`netns add ${node}`, `netns add ${world}`]);
  await run(inNamespace(node, ['sysctl', '-q', '-w', ...settings]));
  // The other machine only observes packets and discards them.
  await run(inNamespace(world, ['sysctl', '-q', '-w', 'net.ipv6.conf.all.disable_ipv6=1', 'net.ipv6.conf.default.disable_ipv6=1']));
  const links = ['pods', 'outside'] as const;
  await ip(
    links.map(
      (link) =>
        `link add ${link} netns ${node} address ${hardware.node[link]} type veth peer name ${link} netns ${world} address ${hardware.world[link]}`,
    ),
  );
  await ip(['link set lo up', ...links.map((link) => `link set ${link} up`)], world);
  const gateways = { pods: ['169.254.1.1', 'fe80::1:1'], outside: ['10.99.0.254', 'fd99::254'] } as const;
  await ip(
    [
      'link set lo up',
      ...links.map((link) => `link set ${link} up`),
      ...nodeAddresses[4].map((address) => `addr add ${address}/24 dev outside`),
      // The kernel chooses the first address that is not deprecated as source, also for masquerade.
      ...nodeAddresses[6].map((address, index) => `addr add ${address}/64 dev outside nodad${index === 0 ? '' : ' preferred_lft 0'}`),
      ...links.flatMap((link) =>
        gateways[link].map((gateway) => `neigh add ${gateway} lladdr ${hardware.world[link]} dev ${link} nud permanent`),
      ),
      // The node has many neighbours, which are all the one other machine.
      `route replace 10.99.0.0/24 via ${gateways.outside[0]} dev outside onlink`,
      `route add default via ${gateways.outside[0]} dev outside onlink`,
      `route add ${podRanges[4]} via ${gateways.pods[0]} dev pods onlink`,
      `route add fd99::/64 via ${gateways.outside[1]} dev outside onlink metric 1`,
      `route add ::/0 via ${gateways.outside[1]} dev outside onlink`,
      `route add ${podRanges[6]} via ${gateways.pods[1]} dev pods onlink`,
    ],
    node,
  );
}

/** Removes namespaces of ended processes. */
function removeLeftoverNamespaces(): void {
  for (const name of execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }).split(/\s+/)) {
    const pid = /^hl-kp-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeNamespace(name);
  }
}

function removeNamespace(name: string): void {
  try {
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
  } catch {
    // Another process has already removed it.
  }
}
