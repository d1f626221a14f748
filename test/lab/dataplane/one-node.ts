import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Family } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';

/**
 * A client, a node and three pods, each in a network namespace `hd-...`. Pods hang on links of their own, so that all
 * their traffic passes the node. pod3 plays a pod of another node: forwarding is told that it is not local.
 */
export const machines = ['client', 'node', 'pod1', 'pod2', 'pod3'] as const;
export type Machine = (typeof machines)[number];
export const namespaceOf = (machine: Machine): string => `hd-${machine}`;
export const podPort = 8080;

export const podAddress = (family: Family, pod: number): string => (family === 4 ? `10.244.1.1${pod}` : `fd01::1${pod}`);
export const nodeAddress = (family: Family): string => (family === 4 ? '10.99.0.1' : 'fd99::1');
export const clientAddress = (family: Family): string => (family === 4 ? '10.99.0.2' : 'fd99::2');
/** The client has it too; tests block it. */
export const blockedAddress = (family: Family): string => (family === 4 ? '10.99.0.6' : 'fd99::6');

const peer = fileURLToPath(new URL('peer.mjs', import.meta.url));
const run = promisify(execFile);

export interface Request {
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  readonly count?: number;
  readonly localAddress?: string;
  readonly localPort?: number;
}

export interface Outcome {
  /** Answers per pod; requests without an answer by their error code or TIMEOUT. */
  readonly counts: Readonly<Record<string, number>>;
  /** The distinct client addresses that pods saw. */
  readonly clients: readonly string[];
  readonly milliseconds: number;
}

export class OneNode {
  readonly #servers: ChildProcess[] = [];

  static async start(): Promise<OneNode> {
    removeNamespaces();
    for (const machine of machines) ip('netns', 'add', namespaceOf(machine));
    for (const machine of machines) inside(machine, 'ip link set lo up');
    ip('link', 'add', 'outside', 'netns', 'hd-node', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', 'hd-client');
    inside('node', 'sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1');
    // Tests count refusals; how many ICMP errors a host sends in a second is not their subject.
    inside('node', 'sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0');
    inside('node', 'ip link set outside up', 'ip addr add 10.99.0.1/24 dev outside', 'ip addr add fd99::1/64 dev outside nodad');
    inside('client', 'ip link set eth0 up', 'ip addr add 10.99.0.2/24 dev eth0', 'ip addr add 10.99.0.6/24 dev eth0');
    inside('client', 'ip addr add fd99::6/64 dev eth0 nodad preferred_lft 0', 'ip addr add fd99::2/64 dev eth0 nodad');
    inside('client', 'ip route add default via 10.99.0.1', 'ip route add default via fd99::1');
    inside('node', 'ip route add default via 10.99.0.2', 'ip route add default via fd99::2');
    const lab = new OneNode();
    for (const pod of [1, 2, 3] as const) {
      const name = `pod${pod}` as const;
      ip('link', 'add', name, 'netns', 'hd-node', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespaceOf(name));
      inside('node', `ip link set ${name} up`, `ip addr add 10.244.1.1/32 dev ${name}`, `ip addr add fd01::1/128 dev ${name} nodad`);
      inside('node', `ip route add 10.244.1.1${pod}/32 dev ${name}`, `ip route add fd01::1${pod}/128 dev ${name}`);
      inside(name, 'ip link set eth0 up', `ip addr add 10.244.1.1${pod}/32 dev eth0`, `ip addr add fd01::1${pod}/128 dev eth0 nodad`);
      inside(name, 'ip route add 10.244.1.1 dev eth0', 'ip route add default via 10.244.1.1');
      inside(name, 'ip route add fd01::1 dev eth0', 'ip route add default via fd01::1');
      const server = spawn('ip', ['netns', 'exec', namespaceOf(name), process.execPath, peer, 'server', name, String(podPort)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      lab.#servers.push(server);
      await once(server.stdout, 'data');
    }
    return lab;
  }

  /** Requests one after the other, each on a connection or socket of its own. */
  async request(from: Machine, request: Request): Promise<Outcome> {
    const { stdout } = await run('ip', ['netns', 'exec', namespaceOf(from), process.execPath, peer, 'client', JSON.stringify(request)]);
    const { results, milliseconds } = JSON.parse(stdout) as { results: string[]; milliseconds: number };
    const counts: Record<string, number> = {};
    const clients = new Set<string>();
    for (const result of results) {
      const [pod = '', client] = result.split(' ');
      counts[pod] = (counts[pod] ?? 0) + 1;
      if (client !== undefined) clients.add(client);
    }
    return { counts, clients: [...clients].sort(), milliseconds };
  }

  /** A connection that keeps asking until `end` is called. */
  async connection(from: Machine, address: string, port: number): Promise<{ end(): Promise<{ answers: number; failure: string }> }> {
    const args = ['netns', 'exec', namespaceOf(from), process.execPath, peer, 'stay', JSON.stringify({ address, port })];
    const child = spawn('ip', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    return {
      async end() {
        child.stdin.end();
        const [line] = (await once(child.stdout, 'data')) as [Buffer];
        return JSON.parse(String(line)) as { answers: number; failure: string };
      },
    };
  }

  stop(): void {
    for (const server of this.#servers) server.kill('SIGKILL');
    removeNamespaces();
  }
}

/** Runs commands in the namespace of a machine and returns what the last one printed. */
export function inside(machine: Machine, ...commands: string[]): string {
  let output = '';
  for (const command of commands)
    output = execFileSync('ip', ['netns', 'exec', namespaceOf(machine), ...command.split(' ')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 26,
    });
  return output;
}

function ip(...args: string[]): void {
  execFileSync('ip', args);
}

function removeNamespaces(): void {
  for (const machine of machines) {
    try {
      execFileSync('ip', ['netns', 'del', namespaceOf(machine)], { stdio: 'ignore' });
    } catch {
      // It was not there.
    }
  }
}
