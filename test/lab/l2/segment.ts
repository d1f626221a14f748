import { join } from 'node:path';
import process from 'node:process';
import { PacketSocket } from '../../../src/l2/transport/linux/packet-socket.ts';
import type { AddressChanges, L2Event, L2Status, Link, PeerSession, Refusal, Table } from '../../../src/l2/index.ts';
import { etherType } from '../../../src/l2/wire/ethernet.ts';
import { loadLibc } from '../../../src/system/ffi/libc.ts';
import { inNetworkNamespace } from '../../kube-fixture/network-namespace.ts';
import { startProgram, type CalledProcess } from '../../peers/called-process.ts';
import { run } from '../../peers/link.ts';
import { identify, isAlive } from '../owner.ts';

/** The library in a process of its own, inside a namespace. */
export class L2Process {
  readonly #program: CalledProcess;

  constructor(namespace: string, options: { readonly realTime?: boolean } = {}) {
    this.#program = startProgram(namespace, join(import.meta.dirname, 'l2-program.ts'), options);
  }

  call(method: string, ...args: unknown[]): Promise<unknown> {
    return this.#program.call(method, ...args);
  }

  set(table: Table): Promise<readonly Refusal[]> {
    return this.call('set', table) as Promise<readonly Refusal[]>;
  }

  change(changes: AddressChanges): Promise<readonly Refusal[]> {
    return this.call('change', changes) as Promise<readonly Refusal[]>;
  }

  async session(name: string, state: PeerSession): Promise<void> {
    await this.call('session', name, state);
  }

  status(): Promise<L2Status> {
    return this.call('status') as Promise<L2Status>;
  }

  events(): Promise<L2Event[]> {
    return this.call('events') as Promise<L2Event[]>;
  }

  async stateOf(address: string): Promise<string | undefined> {
    return (await this.status()).addresses.find((entry) => entry.address === address)?.state;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#program.signal(name);
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }
}

/** A bridge with hosts behind it, each in a namespace with the interface `v0`. Host `at` has 10.77.0.(10 + at) and fd77::(10 + at). */
export class Segment {
  readonly name: string;
  readonly bridge: string;
  readonly hosts: readonly string[];

  constructor(hosts: number) {
    sweep();
    this.name = `l2-${process.pid}-${identify(process.pid)?.started ?? '0'}-${segments++}`;
    this.bridge = `${this.name}b`;
    this.hosts = Array.from({ length: hosts }, (_, at) => `${this.name}h${at}`);
    for (const namespace of [this.bridge, ...this.hosts]) {
      run('ip', 'netns', 'add', namespace);
      run('ip', 'netns', 'exec', namespace, 'sysctl', '-qw', 'net.ipv6.conf.all.accept_ra=0', 'net.ipv6.conf.default.accept_ra=0');
    }
    run('ip', '-n', this.bridge, 'link', 'add', 'br0', 'type', 'bridge', 'mcast_snooping', '0');
    run('ip', '-n', this.bridge, 'link', 'set', 'br0', 'up');
    for (const [at, host] of this.hosts.entries()) {
      run(
        'ip',
        'link',
        'add',
        'v0',
        'netns',
        host,
        'address',
        this.macOf(at),
        'type',
        'veth',
        'peer',
        'name',
        `p${at}`,
        'netns',
        this.bridge,
      );
      run('ip', '-n', this.bridge, 'link', 'set', `p${at}`, 'master', 'br0', 'up');
      run('ip', '-n', host, 'addr', 'add', `10.77.0.${10 + at}/16`, 'dev', 'v0');
      run('ip', '-n', host, 'addr', 'add', `fd77::${10 + at}/64`, 'dev', 'v0', 'nodad');
      run('ip', '-n', host, 'link', 'set', 'v0', 'up');
    }
  }

  host(at: number): string {
    const host = this.hosts[at];
    if (host === undefined) throw new Error(`there is no host ${at}`);
    return host;
  }

  macOf(at: number): string {
    return `02:00:00:00:77:${String(10 + at)}`;
  }

  linkOf(at: number, peers: readonly number[] = []): Link {
    return {
      interface: 'v0',
      mac: this.macOf(at),
      peers: peers.map((peer) => ({ node: `n${peer}`, mac: this.macOf(peer), session: `bfd-n${peer}` })),
    };
  }

  /** Runs a command in the namespace of a host and returns its output, whatever its status. */
  run(at: number, command: string, ...args: readonly string[]): string {
    try {
      return run('ip', 'netns', 'exec', this.host(at), command, ...args);
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      return `${stdout}${stderr}`;
    }
  }

  /** Takes the port of a host out of the bridge, or back in. */
  plug(at: number, isPlugged: boolean): void {
    run('ip', '-n', this.bridge, 'link', 'set', `p${at}`, ...(isPlugged ? ['master', 'br0'] : ['nomaster']));
  }

  /** Sends frames as they are out of a host. */
  send(at: number, frames: readonly Uint8Array[]): void {
    this.#withSockets(at, ({ arp }) => {
      for (const frame of frames) {
        const problem = arp.send(frame);
        if (problem !== undefined) throw new Error(`sending failed: ${problem}`);
      }
    });
  }

  /**
   * Sends frames out of a host, and returns the ARP and NDP frames that it receives within the time. It waits up to ten seconds longer until
   * `isComplete`, because the machine may be busy.
   */
  exchange(
    at: number,
    frames: readonly Uint8Array[],
    milliseconds: number,
    isComplete: (received: readonly Uint8Array[]) => boolean = () => true,
  ): Uint8Array[] {
    return this.#withSockets(at, ({ arp, ipv6 }) => {
      for (const frame of frames) arp.send(frame);
      const received: Uint8Array[] = [];
      const buffer = Buffer.alloc(2048);
      const end = performance.now() + milliseconds;
      while (performance.now() < end || (!isComplete(received) && performance.now() < end + 10_000)) {
        for (const socket of [arp, ipv6]) {
          for (let length = socket.receive(buffer); length > 0; length = socket.receive(buffer))
            received.push(Uint8Array.from(buffer.subarray(0, length)));
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
      return received;
    });
  }

  close(): void {
    for (const namespace of [...this.hosts, this.bridge]) removeNamespace(namespace);
  }

  #withSockets<T>(at: number, act: (sockets: { readonly arp: PacketSocket; readonly ipv6: PacketSocket }) => T): T {
    return inNetworkNamespace(this.host(at), () => {
      const libc = loadLibc();
      if (libc === undefined) throw new Error('koffi has no binary for this machine');
      const index = libc.interfaceIndex('v0');
      const arp = new PacketSocket(libc, index, etherType.arp, false);
      const ipv6 = new PacketSocket(libc, index, etherType.ipv6, false);
      try {
        return act({ arp, ipv6 });
      } finally {
        arp.close();
        ipv6.close();
      }
    });
  }
}

let segments = 0;

function removeNamespace(name: string): void {
  run('ip', 'netns', 'delete', name);
}

/** Removes the leftovers of runs whose process has ended. */
function sweep(): void {
  for (const line of run('ip', 'netns', 'list').split('\n')) {
    const [name = ''] = line.split(' ');
    const [, pid, started] = /^l2-(\d+)-(\d+)-\d+[bhp]\d*$/.exec(name) ?? [];
    if (pid !== undefined && started !== undefined && !isAlive({ pid: Number(pid), started })) removeNamespace(name);
  }
}
