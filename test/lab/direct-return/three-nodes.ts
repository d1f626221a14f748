import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Family } from '../../../src/net/address.ts';
import { withoutDuplicateDetection } from '../dataplane/one-node.ts';

/**
 * A client, a router and three nodes with one pod each, in network namespaces `hl-dsr-PID-...`. The router sends packets for the service
 * address to one node, which the test chooses. With layout `link` the nodes share one link, a bridge of the router. With `routed` each node
 * has its own link to the router.
 */
export type Machine = 'client' | 'router' | `node${number}` | `pod${number}`;
export type Layout = 'link' | 'routed';
export const nodes = [1, 2, 3] as const;
const machines: readonly Machine[] = ['client', 'router', ...nodes.flatMap((n): Machine[] => [`node${n}`, `pod${n}`])];
export const namespaceOf = (machine: Machine): string => `hl-dsr-${process.pid}-${machine}`;

export const vip = (family: Family): string => (family === 4 ? '192.0.2.10' : 'fd92::10');
export const clientAddress = (family: Family): string => (family === 4 ? '10.89.0.2' : 'fd89::2');
export const podAddress = (family: Family, n: number): string => (family === 4 ? `10.244.${n}.11` : `fd44:${n}::11`);
export const nodeAddress = (layout: Layout, family: Family, n: number): string => {
  const link = layout === 'link' ? 0 : n;
  return family === 4 ? `10.88.${link}.${n}` : `fd88:${link}::${n}`;
};
const routerAddress = (layout: Layout, family: Family, n: number): string => {
  const link = layout === 'link' ? 0 : n;
  return family === 4 ? `10.88.${link}.254` : `fd88:${link}::254`;
};
export const podPort = 8080;

const families: readonly Family[] = [4, 6];
const peer = fileURLToPath(new URL('peer.mjs', import.meta.url));

export class ThreeNodes {
  readonly layout: Layout;
  readonly #children: ChildProcess[] = [];
  #client: ChildProcess | undefined;
  #answers: Interface | undefined;

  private constructor(layout: Layout) {
    this.layout = layout;
  }

  static async start(layout: Layout): Promise<ThreeNodes> {
    removeNamespaces();
    const lab = new ThreeNodes(layout);
    for (const machine of machines) execFileSync('ip', ['netns', 'add', namespaceOf(machine)]);
    for (const machine of machines)
      inside(
        machine,
        'ip link set lo up',
        withoutDuplicateDetection,
        'sysctl -qw net.ipv6.conf.default.keep_addr_on_down=1 net.ipv6.conf.all.keep_addr_on_down=1',
      );
    inside('router', 'sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.send_redirects=0');
    link('client', 'eth0', 'router', 'client');
    inside('client', 'ip addr add 10.89.0.2/24 dev eth0', 'ip addr add fd89::2/64 dev eth0 nodad', 'ip link set eth0 up');
    inside('router', 'ip addr add 10.89.0.1/24 dev client', 'ip addr add fd89::1/64 dev client nodad', 'ip link set client up');
    inside('client', 'ip route add default via 10.89.0.1', 'ip route add default via fd89::1');
    if (layout === 'link') {
      inside('router', 'ip link add br0 type bridge', 'ip link set br0 up');
      for (const family of families)
        inside('router', `ip addr add ${routerAddress(layout, family, 0)}/${length(family)} dev br0${nodad(family)}`);
    }
    for (const n of nodes) lab.#node(n);
    for (const n of nodes) await lab.#serve(n);
    lab.routeTo(1);
    lab.#start();
    return lab;
  }

  /** Sends packets for the service addresses to this node from now on, as if a router had changed its choice among equal paths. */
  routeTo(n: number): void {
    for (const family of families) inside('router', `ip route replace ${vip(family)} via ${nodeAddress(this.layout, family, n)}`);
  }

  cut(n: number): void {
    inside('router', `ip link set node${n} down`);
  }

  heal(n: number): void {
    inside('router', `ip link set node${n} up`);
    if (this.layout === 'routed') this.#routesTo(n);
  }

  /** Lets the client carry out one command and returns its answer. */
  async ask<T>(command: object): Promise<T> {
    const answer = once(this.#answers ?? process.stdin, 'line');
    this.#client?.stdin?.write(`${JSON.stringify(command)}\n`);
    const [line] = (await answer) as [string];
    const result = JSON.parse(line) as T | { readonly failed: string };
    if (typeof result === 'object' && result !== null && 'failed' in result) throw new Error(result.failed);
    return result;
  }

  /** Carries out commands on another machine, with connections of their own. */
  static async from<T>(machine: Machine, ...commands: readonly object[]): Promise<T[]> {
    const child = spawn('ip', ['netns', 'exec', namespaceOf(machine), process.execPath, peer, 'client'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    for (const command of commands) child.stdin.write(`${JSON.stringify(command)}\n`);
    child.stdin.end();
    const lines: T[] = [];
    for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line) as T);
    return lines;
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    removeNamespaces();
  }

  #node(n: (typeof nodes)[number]): void {
    const [node, pod] = [`node${n}`, `pod${n}`] as const;
    const { layout } = this;
    link(node, 'eth0', 'router', node);
    link(node, 'pod', pod, 'eth0');
    inside(
      node,
      'sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0',
    );
    inside(node, 'ip link set eth0 up', 'ip link set pod up');
    inside(pod, 'ip link set eth0 up');
    if (layout === 'link') inside('router', `ip link set ${node} master br0`);
    inside('router', `ip link set ${node} up`);
    for (const family of families) {
      const [own, router] = [nodeAddress(layout, family, n), routerAddress(layout, family, n)];
      inside(node, `ip addr add ${own}/${length(family)} dev eth0${nodad(family)}`);
      if (layout === 'routed') inside('router', `ip addr add ${router}/${length(family)} dev ${node}${nodad(family)}`);
      inside(node, `ip -${family} route add default via ${router}`);
      const [gateway, address] = [family === 4 ? '169.254.1.1' : 'fe80::1', podAddress(family, n)];
      inside(
        node,
        `ip addr add ${gateway}/${family === 4 ? 32 : 64} dev pod${nodad(family)}`,
        `ip -${family} route add ${address} dev pod`,
      );
      inside(pod, `ip addr add ${address}/${family === 4 ? 32 : 128} dev eth0${nodad(family)}`);
      if (family === 4) inside(pod, `ip route add ${gateway} dev eth0`);
      inside(pod, `ip -${family} route add default via ${gateway} dev eth0`);
      for (const other of nodes) {
        const prefix = family === 4 ? `10.244.${other}.0/24` : `fd44:${other}::/64`;
        if (other !== n && layout === 'link') inside(node, `ip route add ${prefix} via ${nodeAddress(layout, family, other)}`);
      }
    }
    this.#routesTo(n);
  }

  #routesTo(n: number): void {
    for (const family of families) {
      const prefix = family === 4 ? `10.244.${n}.0/24` : `fd44:${n}::/64`;
      inside('router', `ip route replace ${prefix} via ${nodeAddress(this.layout, family, n)}`);
    }
  }

  async #serve(n: number): Promise<void> {
    const command = ['netns', 'exec', namespaceOf(`pod${n}`), process.execPath, peer, 'server', `pod${n}`, String(podPort)];
    const server = spawn('ip', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(server);
    await once(server.stdout, 'data');
  }

  #start(): void {
    const client = spawn('ip', ['netns', 'exec', namespaceOf('client'), process.execPath, peer, 'client'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#children.push(client);
    this.#client = client;
    this.#answers = createInterface({ input: client.stdout });
  }
}

/** Runs commands in the namespace of a machine and returns what the last one printed. */
export function inside(machine: Machine, ...commands: string[]): string {
  let output = '';
  for (const command of commands)
    output = execFileSync('ip', ['netns', 'exec', namespaceOf(machine), ...command.split(' ')], { encoding: 'utf8' });
  return output;
}

const length = (family: Family): number => (family === 4 ? 24 : 64);
const nodad = (family: Family): string => (family === 4 ? '' : ' nodad');

function link(a: Machine, nameOfA: string, b: Machine, nameOfB: string): void {
  const end = (name: string, machine: Machine): string[] => ['name', name, 'netns', namespaceOf(machine)];
  execFileSync('ip', ['link', 'add', ...end(nameOfA, a), 'type', 'veth', 'peer', ...end(nameOfB, b)]);
}

/** Removes the namespaces of this process, and those of processes that have ended. */
function removeNamespaces(): void {
  for (const name of execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }).split(/\s+/)) {
    const pid = /^hl-dsr-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || (Number(pid) !== process.pid && existsSync(`/proc/${pid}`))) continue;
    try {
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    } catch {
      // Another process removed it first.
    }
  }
}
