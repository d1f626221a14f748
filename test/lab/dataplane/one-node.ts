import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Family } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { removeNamespaces, runInside } from './namespaces.ts';
import { HeldConnections } from './held-connections.ts';
import { StayingConnection } from './staying-connection.ts';

/**
 * A client, a node and three pods, each in its own network namespace `hd-...`. Each pod has a link of its own, so that all its traffic
 * passes the node. pod3 plays a pod of another node: forwarding treats it as not local. Servers listen everywhere on `podPort` and
 * `otherPort`. They answer with the name of their machine, and with the port if it is the other one.
 */
export const machines = ['client', 'node', 'pod1', 'pod2', 'pod3'] as const;
export type Machine = (typeof machines)[number];
/** The name includes the process id, so that two suites do not remove each other's namespaces. */
export const namespaceOf = (machine: Machine): string => `hd-${process.pid}-${machine}`;
export const podPort = 8080;
export const otherPort = 9090;

export const podAddress = (family: Family, pod: number): string => (family === 4 ? `10.244.1.1${pod}` : `fd01::1${pod}`);
export const nodeAddress = (family: Family): string => (family === 4 ? '10.99.0.1' : 'fd99::1');
export const clientAddress = (family: Family): string => (family === 4 ? '10.99.0.2' : 'fd99::2');
/** A second address of the client, which tests block. */
export const blockedAddress = (family: Family): string => (family === 4 ? '10.99.0.6' : 'fd99::6');

/** Run this before links are created, because new links copy `default`. */
export const withoutDuplicateDetection = 'sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0';
const peer = fileURLToPath(new URL('peer.mjs', import.meta.url));
const run = promisify(execFile);

/** Milliseconds to wait in a test that expects no answer. */
export const shortTimeout = 1_000;

export interface Request {
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  readonly count?: number;
  readonly localAddress?: string;
  readonly localPort?: number;
  /** Milliseconds. 10,000 by default; `shortTimeout` where no answer is expected. */
  readonly timeout?: number;
}

export interface Outcome {
  /** The number of answers by pod. Requests without an answer count under their error code or TIMEOUT. */
  readonly counts: Readonly<Record<string, number>>;
  /** The distinct client addresses that pods saw. */
  readonly clients: readonly string[];
  /** One entry for each request: "pod1 10.99.0.2" or an error code. */
  readonly answers: readonly string[];
  readonly milliseconds: number;
}

export class OneNode {
  readonly #servers: ChildProcess[] = [];

  static async start(): Promise<OneNode> {
    removeNamespaces();
    for (const machine of machines) ip('netns', 'add', namespaceOf(machine));
    // While a link-local address is tentative, it answers no neighbor solicitation and the first forwarded packets are lost.
    for (const machine of machines) inside(machine, 'ip link set lo up', withoutDuplicateDetection);
    ip('link', 'add', 'outside', 'netns', namespaceOf('node'), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespaceOf('client'));
    inside('node', 'sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1');
    // Tests count refusals, so the rate limit of ICMP errors is switched off.
    inside('node', 'sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0');
    inside('node', 'ip link set outside up', 'ip addr add 10.99.0.1/24 dev outside', 'ip addr add fd99::1/64 dev outside nodad');
    inside('node', 'ip addr add 10.99.0.8/24 dev outside', 'ip addr add fd99::8/64 dev outside nodad preferred_lft 0');
    inside('client', 'ip link set eth0 up', 'ip addr add 10.99.0.2/24 dev eth0', 'ip addr add 10.99.0.6/24 dev eth0');
    inside('client', 'ip addr add fd99::6/64 dev eth0 nodad preferred_lft 0', 'ip addr add fd99::2/64 dev eth0 nodad');
    inside('client', 'ip route add default via 10.99.0.1', 'ip route add default via fd99::1');
    inside('node', 'ip route add default via 10.99.0.2', 'ip route add default via fd99::2');
    const lab = new OneNode();
    for (const pod of [1, 2, 3] as const) {
      const name = `pod${pod}` as const;
      ip('link', 'add', name, 'netns', namespaceOf('node'), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespaceOf(name));
      inside('node', `ip link set ${name} up`, `ip addr add 10.244.1.1/32 dev ${name}`, `ip addr add fd01::1/128 dev ${name} nodad`);
      // The node answers pods from its own address, whichever address they asked. A UDP server leaves the choice to the routes.
      inside(
        'node',
        `ip route add 10.244.1.1${pod}/32 dev ${name} src 10.99.0.1`,
        `ip route add fd01::1${pod}/128 dev ${name} src fd99::1`,
      );
      inside(name, 'ip link set eth0 up', `ip addr add 10.244.1.1${pod}/32 dev eth0`, `ip addr add fd01::1${pod}/128 dev eth0 nodad`);
      inside(name, 'ip route add 10.244.1.1 dev eth0', 'ip route add default via 10.244.1.1');
      inside(name, 'ip route add fd01::1 dev eth0', 'ip route add default via fd01::1');
    }
    for (const machine of machines) await lab.#serve(machine);
    return lab;
  }

  async #serve(machine: Machine): Promise<void> {
    const command = ['netns', 'exec', namespaceOf(machine), process.execPath, peer, 'server', machine, String(podPort), String(otherPort)];
    const server = spawn('ip', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#servers.push(server);
    await once(server.stdout, 'data');
  }

  /** Makes requests one after the other, each on its own connection or socket. */
  async request(from: Machine, request: Request): Promise<Outcome> {
    const [outcome] = await this.requests(from, [request]);
    if (outcome === undefined) throw new Error('no outcome');
    return outcome;
  }

  /** Makes several requests at the same time. */
  async requests(from: Machine, requests: readonly Request[]): Promise<Outcome[]> {
    const command = ['netns', 'exec', namespaceOf(from), process.execPath, peer, 'client', JSON.stringify(requests)];
    const { stdout } = await run('ip', command, { maxBuffer: 1 << 24 });
    return (JSON.parse(stdout) as { answers: string[]; milliseconds: number }[]).map(({ answers, milliseconds }) => {
      const counts: Record<string, number> = {};
      for (const answer of answers) {
        const [name = ''] = answer.split(' ');
        counts[name] = (counts[name] ?? 0) + 1;
      }
      const clients = new Set(answers.flatMap((answer) => answer.split(' ')[1] ?? []));
      return { counts, clients: [...clients].sort(), answers, milliseconds };
    });
  }

  /** Opens a connection that keeps asking. Resolves with its first answer. */
  async connection(from: Machine, address: string, port: number): Promise<StayingConnection> {
    const args = ['netns', 'exec', namespaceOf(from), process.execPath, peer, 'stay', JSON.stringify({ address, port })];
    return StayingConnection.from(spawn('ip', args, { stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  /** Starts a program that keeps connections open, until its standard input ends. */
  holder(from: Machine): HeldConnections {
    const args = ['netns', 'exec', namespaceOf(from), process.execPath, peer, 'hold'];
    return new HeldConnections(spawn('ip', args, { stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  stop(): void {
    for (const server of this.#servers) server.kill('SIGKILL');
    removeNamespaces();
  }
}

/** Runs commands in the namespace of a machine and returns what the last one printed. */
export function inside(machine: Machine, ...commands: string[]): string {
  return runInside(namespaceOf(machine), commands);
}

function ip(...args: string[]): void {
  execFileSync('ip', args);
}
