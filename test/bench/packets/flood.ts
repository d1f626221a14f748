import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInside } from '../../lab/dataplane/namespaces.ts';

/** `new`: SYNs, each from another port. `established`: packets of some connections in turn. */
export const kindsOfTraffic = ['established', 'new'] as const;
export type Traffic = (typeof kindsOfTraffic)[number];

/** Where packets begin and end; all are network namespaces. */
export interface Path {
  readonly client: string;
  /** The link address of the client's first hop. */
  readonly gateway: string;
  readonly pods: readonly string[];
  /** Machines that track connections. Their tables are emptied before each measurement, or they would fill up. */
  readonly nodes: readonly string[];
}

export interface Destination {
  readonly source: string;
  readonly address: string;
  readonly port: number;
}

/** Enough to meet every backend. */
const connections = 64;
const firstPort = 1024;
const run = promisify(execFile);
const counted = /packets (\d+)/g;
const clock = /(\d+) sec, (\d+) usec/;
/** A packet waits, or is lost, while the kernel resolves the next hop once more. */
const lostToResolution = 10;
// Pods drop all packets, so that nothing but their way is measured.
const arrivals = 'table inet flood { chain arrivals { type filter hook prerouting priority raw; meta l4proto tcp counter drop; }; }\n';

/** Sends packets from the client to pods as fast as one processor can, and counts them there. */
export class Flood {
  readonly #path: Path;
  readonly #directory = mkdtempSync(join(tmpdir(), 'herald-flood-'));
  readonly #ethernet: string;

  constructor(path: Path) {
    this.#path = path;
    process.once('exit', () => rmSync(this.#directory, { recursive: true, force: true }));
    const own = runInside(path.client, ['cat /sys/class/net/eth0/address']).trim();
    this.#ethernet = `eth(da=${path.gateway}, sa=${own})`;
    for (const pod of path.pods) execFileSync('ip', ['netns', 'exec', pod, 'nft', '-f', '-'], { input: arrivals });
  }

  /**
   * Returns the microseconds that one processor takes for a packet, from the client to the drop in the pod: all links are virtual, and the
   * sender's processor does the work of every machine. Fails when packets are lost.
   */
  async microseconds(traffic: Traffic, { source, address, port }: Destination, packets: number): Promise<number> {
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    for (const node of this.#path.nodes) runInside(node, [`conntrack -F -f ${family}`]);
    const [lastPort, flag] = traffic === 'new' ? [65_000, 'syn'] : [firstPort + connections - 1, 'ack'];
    const limit = family === 'ipv6' ? 'hl' : 'ttl';
    const network = `${family}(sa=${source}, da=${address}, ${limit}=64)`;
    const packet = join(this.#directory, 'packet.cfg');
    writeFileSync(packet, `{ ${this.#ethernet}, ${network}, tcp(sp=dinc(${firstPort}, ${lastPort}), dp=${port}, ${flag}) }`);
    if (traffic === 'established') {
      await this.#send(packet, connections);
      // No pod replies, and the kernel takes a connection without a reply for new.
      for (const node of this.#path.nodes) await this.#replied(node, family);
    }
    const before = this.#arrived();
    const microseconds = await this.#send(packet, packets);
    const arrived = this.#arrived() - before;
    if (arrived < packets - lostToResolution) throw new Error(`${arrived} of ${packets} packets to ${address} arrived`);
    return microseconds / packets;
  }

  async #replied(node: string, family: string, attempts = 3): Promise<void> {
    try {
      await run('ip', ['netns', 'exec', node, 'conntrack', '-U', '-f', family, '--status', 'SEEN_REPLY']);
    } catch (error) {
      // No connection passes this node.
      if (String(error).includes('0 flow entries have been updated')) return;
      // Another connection of the node may end meanwhile.
      if (attempts === 1) throw error;
      await this.#replied(node, family, attempts - 1);
    }
  }

  async #send(packet: string, count: number): Promise<number> {
    const trafgen = ['trafgen', '--dev', 'eth0', '--conf', packet, '-n', String(count), '--cpus', '1', '--no-sock-mem'];
    const { stdout } = await run('ip', ['netns', 'exec', this.#path.client, ...trafgen]);
    const [, seconds, rest] = clock.exec(stdout) ?? [];
    return Number(seconds) * 1e6 + Number(rest);
  }

  #arrived(): number {
    return this.#path.pods
      .flatMap((pod) => [...runInside(pod, ['nft list chain inet flood arrivals']).matchAll(counted)])
      .reduce((sum, [, count]) => sum + Number(count), 0);
  }
}

/** Returns the quickest turn of each kind. */
export function leastOf<T extends { readonly microseconds: number }>(turns: readonly T[], kind: (turn: T) => string): T[] {
  return [...Map.groupBy(turns, kind).values()].flatMap((same) => same.toSorted((a, b) => a.microseconds - b.microseconds).slice(0, 1));
}
