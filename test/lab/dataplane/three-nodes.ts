import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { NftablesDataplane } from '../../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../../support/namespace-named.ts';
import type { Family } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { prefix } from '../../../src/net/prefix.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { withoutDuplicateDetection } from './one-node.ts';
import { removeNamespaces, runInside } from './namespaces.ts';
import { StayingConnection } from './staying-connection.ts';

/**
 * A client, three nodes and a machine with all pods on one link, each in its own network namespace `hd-PID-...`. The client's routes choose
 * the node for a connection, as a router's ECMP would.
 */
export const nodes = ['node1', 'node2', 'node3'] as const;
export type NodeName = (typeof nodes)[number];
const machines = ['link', 'client', 'pods', ...nodes] as const;
type Machine = (typeof machines)[number];

const hosts: Readonly<Record<Exclude<Machine, 'link'>, number>> = { client: 2, node1: 11, node2: 12, node3: 13, pods: 20 };
const onLink = (family: Family, host: number): string => (family === 4 ? `10.99.0.${host}` : `fd99::${host}`);
export const podAddress = (family: Family, pod: number): string => (family === 4 ? `10.244.0.${pod}` : `fd01::${pod}`);
export const nodeAddress = (family: Family, node: NodeName): string => onLink(family, hosts[node]);
/** The addresses of the client. It has `clientAddresses` of them. */
export const clientAddress = (family: Family, number = 0): string => onLink(family, hosts.client + number);
export const clientAddresses = 6;
export const serviceAddress = (family: Family): string => (family === 4 ? '192.0.2.1' : 'fd09::1');
export const podCount = 10;
export const podPort = 8080;

const peer = fileURLToPath(new URL('peer.mjs', import.meta.url));
const raw = fileURLToPath(new URL('raw.mjs', import.meta.url));
const run = promisify(execFile);
const families: readonly Family[] = [4, 6];

export interface From {
  readonly family: Family;
  readonly localAddress: string;
  readonly localPort: number;
}

export class ThreeNodes {
  readonly dataplanes: ReadonlyMap<NodeName, NftablesDataplane>;
  #server: ChildProcess | undefined;

  private constructor() {
    this.dataplanes = new Map(
      nodes.map((node) => {
        const ports = machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf(node)) });
        return [node, new NftablesDataplane(ports)];
      }),
    );
  }

  static async start(): Promise<ThreeNodes> {
    removeNamespaces();
    for (const machine of machines) execFileSync('ip', ['netns', 'add', namespaceOf(machine)]);
    for (const machine of machines) inside(machine, withoutDuplicateDetection);
    inside('link', 'ip link add bridge type bridge', 'ip link set bridge up');
    for (const [machine, host] of Object.entries(hosts) as [Exclude<Machine, 'link'>, number][]) {
      inside('link', `ip link add ${machine} type veth peer name eth0 netns ${namespaceOf(machine)}`);
      inside('link', `ip link set ${machine} master bridge up`);
      inside(machine, 'ip link set lo up', 'ip link set eth0 up');
      for (const family of families)
        inside(machine, `ip addr add ${onLink(family, host)}/${family === 4 ? 24 : 64} dev eth0${nodad(family)}`);
    }
    for (const family of families) {
      for (let number = 1; number < clientAddresses; number++)
        inside('client', `ip addr add ${clientAddress(family, number)}/${family === 4 ? 24 : 64} dev eth0${nodad(family)}`);
      for (let pod = 1; pod <= podCount; pod++)
        inside('pods', `ip addr add ${podAddress(family, pod)}/${family === 4 ? 32 : 128} dev lo${nodad(family)}`);
      for (const node of nodes)
        inside(node, `ip route add ${family === 4 ? '10.244.0.0/16' : 'fd01::/64'} via ${onLink(family, hosts.pods)}`);
    }
    for (const node of nodes) inside(node, 'sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1');
    const lab = new ThreeNodes();
    for (const dataplane of lab.dataplanes.values()) {
      await dataplane.replace(
        { nodePortAddresses: [], podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')], servicePrefixes: [], masqueradeBit: 14 },
        new Map(),
      );
    }
    await lab.#serve();
    return lab;
  }

  async #serve(): Promise<void> {
    const pods = families.flatMap((family) => Array.from({ length: podCount }, (_, index) => podAddress(family, index + 1)));
    const command = ['netns', 'exec', namespaceOf('pods'), process.execPath, peer, 'pods', JSON.stringify(pods), String(podPort)];
    this.#server = spawn('ip', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(this.#server.stdout as NonNullable<ChildProcess['stdout']>, 'data');
  }

  /** Sends the client's packets to the Service to this node from now on. */
  routeTo(node: NodeName): void {
    for (const family of families) inside('client', `ip route replace ${serviceAddress(family)} via ${nodeAddress(family, node)}`);
  }

  /** Opens a connection or sends a datagram for each entry, all at once. Returns the address of the pod that answered, or an error code. */
  async ask(protocol: Exclude<Protocol, 'SCTP'>, from: readonly From[]): Promise<string[]> {
    const requests = from.map(({ family, ...rest }) => ({ protocol, address: serviceAddress(family), port: 80, ...rest }));
    const command = ['netns', 'exec', namespaceOf('client'), process.execPath, peer, 'client', JSON.stringify(requests)];
    const { stdout } = await run('ip', command, { maxBuffer: 1 << 24 });
    return (JSON.parse(stdout) as { answers: string[] }[]).map(({ answers: [answer = ''] }) => answer.split(' ')[0] ?? '');
  }

  /** Sends SCTP INITs. Returns for each source port the pod that the node translated it to. */
  initiate(node: NodeName, family: Family, sourcePorts: readonly number[]): ReadonlyMap<number, string> {
    const packet = { kind: 'SCTP INIT', source: clientAddress(family), destination: serviceAddress(family), sourcePorts, port: 80 };
    execFileSync('ip', ['netns', 'exec', namespaceOf('client'), process.execPath, raw, JSON.stringify(packet)]);
    const flows = inside(node, `conntrack -L -p sctp -f ipv${family}`).split('\n');
    return new Map(
      flows.flatMap((flow): [number, string][] => {
        const match = /sport=(\d+) .*?src=(\S+) dst=\S+ sport=8080 /.exec(flow);
        return match === null ? [] : [[Number(match[1]), match[2] ?? '']];
      }),
    );
  }

  /** Opens a connection that keeps asking. Resolves with its first answer. */
  async connection({ family, localAddress, localPort }: From): Promise<StayingConnection> {
    const request = { address: serviceAddress(family), port: 80, localAddress, localPort };
    const command = ['netns', 'exec', namespaceOf('client'), process.execPath, peer, 'stay', JSON.stringify(request)];
    return StayingConnection.from(spawn('ip', command, { stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  async stop(): Promise<void> {
    for (const dataplane of this.dataplanes.values()) await dataplane.close();
    this.#server?.kill('SIGKILL');
    removeNamespaces();
  }
}

/** Runs commands in the namespace of a machine and returns what the last one printed. */
export function inside(machine: Machine, ...commands: string[]): string {
  return runInside(namespaceOf(machine), commands);
}

const namespaceOf = (machine: Machine): string => `hd-${process.pid}-three-${machine}`;
const nodad = (family: Family): string => (family === 4 ? '' : ' nodad');
