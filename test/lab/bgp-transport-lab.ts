import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.ts';
import { frrDirectories } from './frr.ts';
import type { HostMethods } from './bgp-transport-host.ts';

/**
 * Two hosts, `a` and `b`, with two cables between them: v0 with the addresses below, v1 with link-local addresses only. Namespaces are
 * called ht-PID-NAME after the process that made them. Namespaces of processes that have ended are removed first.
 */
export const addresses = {
  a: { 4: '10.98.0.1', 6: 'fd98::1', linkLocal: 'fe80::a0' },
  b: { 4: '10.98.0.2', 6: 'fd98::2', linkLocal: 'fe80::b0' },
} as const;

export type HostName = 'a' | 'b';

export const namespaceOf = (host: HostName): string => `ht-${process.pid}-${host}`;

const inside = (host: HostName, ...argv: string[]): Promise<string> =>
  run(['ip', 'netns', 'exec', namespaceOf(host), ...argv]).then(({ stdout }) => stdout);

export async function setUp(): Promise<void> {
  await sweep();
  for (const host of ['a', 'b'] as const) {
    await run(['ip', 'netns', 'add', namespaceOf(host)]);
    await inside(host, 'sysctl', '-q', '-w', 'net.ipv6.conf.default.accept_dad=0', 'net.ipv6.conf.default.addr_gen_mode=1');
    await run(['ip', '-n', namespaceOf(host), 'link', 'set', 'lo', 'up']);
  }
  for (const cable of ['v0', 'v1']) await addCable(cable);
  for (const host of ['a', 'b'] as const) {
    await addAddress(host, 'v0', `${addresses[host][4]}/24`);
    await addAddress(host, 'v0', `${addresses[host][6]}/64`);
  }
}

/** Connects the two hosts with a cable that has link-local addresses. */
export async function addCable(cable: string): Promise<void> {
  await run(['ip', 'link', 'add', cable, 'netns', namespaceOf('a'), 'type', 'veth', 'peer', 'name', cable, 'netns', namespaceOf('b')]);
  for (const host of ['a', 'b'] as const) {
    await run(['ip', '-n', namespaceOf(host), 'link', 'set', cable, 'up']);
    await addAddress(host, cable, `${addresses[host].linkLocal}/64`);
  }
}

export async function removeCable(cable: string): Promise<void> {
  await run(['ip', '-n', namespaceOf('a'), 'link', 'delete', cable]);
}

async function addAddress(host: HostName, cable: string, address: string): Promise<void> {
  const flags = address.includes(':') ? ['nodad'] : [];
  await run(['ip', '-n', namespaceOf(host), 'addr', 'add', address, 'dev', cable, ...flags]);
}

export async function tearDown(): Promise<void> {
  for (const host of ['a', 'b'] as const) await remove(namespaceOf(host));
}

async function sweep(): Promise<void> {
  for (const name of readdirSync('/run/netns')) {
    const pid = /^ht-(\d+)-[ab]$/.exec(name)?.[1];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)))) await remove(name);
  }
}

async function remove(namespace: string): Promise<void> {
  const { stdout } = await run(['ip', 'netns', 'pids', namespace], { check: false });
  for (const pid of stdout.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // The process has ended by itself.
    }
  }
  await run(['ip', 'netns', 'delete', namespace], { check: false });
  for (const directory of frrDirectories(namespace)) rmSync(directory, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Counts packets that arrive at `host`, one counter for each expression. */
export async function count(host: HostName, expressions: Readonly<Record<string, string>>): Promise<void> {
  const names = Object.keys(expressions);
  const text = `table inet seen {
    ${names.map((name) => `counter n_${name} { }`).join('\n')}
    chain input { type filter hook input priority 0;
      ${names.map((name) => `${expressions[name]} counter name n_${name}`).join('\n')}
    }
  }`;
  await run(['ip', 'netns', 'exec', namespaceOf(host), 'nft', '-f', '-'], { input: text });
}

export async function counted(host: HostName): Promise<Record<string, number>> {
  const { nftables } = JSON.parse(await inside(host, 'nft', '-j', 'list', 'counters')) as {
    nftables: { counter?: { name: string; packets: number } }[];
  };
  return Object.fromEntries(nftables.flatMap(({ counter }) => (counter === undefined ? [] : [[counter.name.slice(2), counter.packets]])));
}

export async function dropInput(host: HostName): Promise<void> {
  const text = 'table inet seen { chain input { type filter hook input priority 0; tcp dport 179 drop\n}\n}\n';
  await run(['ip', 'netns', 'exec', namespaceOf(host), 'nft', '-f', '-'], { input: text });
}

export async function clearRules(host: HostName): Promise<void> {
  await inside(host, 'nft', 'flush', 'ruleset');
}

/** Starts FRR in the namespace of a host: zebra, which sends and receives router advertisements, and bgpd. */
export async function startRouter(host: HostName, config: string): Promise<void> {
  const namespace = namespaceOf(host);
  const [runDirectory, configDirectory] = frrDirectories(namespace);
  await run(['install', '-d', '-o', 'frr', '-g', 'frrvty', '-m', '0775', runDirectory]);
  await run(['install', '-d', '-o', 'frr', '-g', 'frr', configDirectory]);
  writeFileSync(join(configDirectory, 'frr.conf'), config);
  writeFileSync(join(configDirectory, 'vtysh.conf'), '');
  for (const daemon of ['zebra', 'bgpd']) await inside(host, `/usr/lib/frr/${daemon}`, '-d', '-N', namespace, '-A', '127.0.0.1');
  await run(['vtysh', '-N', namespace, '-b']);
}

export async function vtysh(host: HostName, command: string): Promise<string> {
  return (await run(['vtysh', '-N', namespaceOf(host), '-c', command])).stdout;
}

/** A process with a transport in the namespace of a host. */
export class TransportHost {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #calls = 0;

  /** `wrapper` is the program that starts the process, such as setpriv. */
  constructor(host: HostName, ...wrapper: string[]) {
    const script = join(import.meta.dirname, 'bgp-transport-host.ts');
    this.#child = spawn('ip', ['netns', 'exec', namespaceOf(host), ...wrapper, process.execPath, script], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.on('message', (reply: { id: number; value?: unknown; error?: string }) => {
      const call = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if (reply.error === undefined) call?.resolve(reply.value);
      else call?.reject(new Error(reply.error));
    });
    this.#child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the host has ended'));
      this.#waiting.clear();
    });
  }

  call<M extends keyof HostMethods>(method: M, ...args: Parameters<HostMethods[M]>): Promise<ReturnType<HostMethods[M]>> {
    return new Promise((resolve, reject) => {
      const id = this.#calls++;
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#child.send({ id, method, args });
    });
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}
