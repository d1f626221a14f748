import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import process from 'node:process';
import { identify, isAlive } from '../lab/owner.ts';
import { directoriesOf, hostRoot, trixieRoot } from './root.ts';

export const routerAddress = { 4: '10.99.0.1', 6: 'fd99::1' } as const;
export const speakerAddress = { 4: '10.99.0.2', 6: 'fd99::2' } as const;

export function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 256 * 1024 * 1024 });
}

/**
 * Two network namespaces joined by a veth pair `v0`: one for a daemon, one for our speaker. Their names carry the process that made them,
 * so that parallel runs do not collide and leftovers of a killed run can be recognised.
 */
export class Link {
  /** The name of this link, also used for files: PREFIX-PID-STARTED-NUMBER. */
  readonly name: string;
  readonly router: string;
  readonly speaker: string;

  constructor(prefix: string) {
    sweep(prefix);
    const self = identify(process.pid);
    this.name = `${prefix}-${process.pid}-${self?.started ?? '0'}-${links++}`;
    this.router = `${this.name}r`;
    this.speaker = `${this.name}s`;
    for (const namespace of [this.router, this.speaker]) {
      run('ip', 'netns', 'add', namespace);
      run('ip', '-n', namespace, 'link', 'set', 'lo', 'up');
      run('ip', 'netns', 'exec', namespace, 'sysctl', '-qw', ...settings);
    }
    run('ip', 'link', 'add', 'v0', 'netns', this.router, 'type', 'veth', 'peer', 'name', 'v0', 'netns', this.speaker);
    for (const [namespace, address] of [
      [this.router, routerAddress],
      [this.speaker, speakerAddress],
    ] as const) {
      run('ip', '-n', namespace, 'addr', 'add', `${address[4]}/24`, 'dev', 'v0');
      run('ip', '-n', namespace, 'addr', 'add', `${address[6]}/64`, 'dev', 'v0', 'nodad');
      run('ip', '-n', namespace, 'link', 'set', 'v0', 'up');
    }
    mkdirSync(`/run/${this.name}`);
  }

  /** Returns a kernel counter of dropped segments in the daemon's namespace. No program sees those segments. */
  drops(counter: 'TCPMD5Failure' | 'TCPMinTTLDrop'): number {
    const [names = '', values = ''] = run('ip', 'netns', 'exec', this.router, 'grep', '^TcpExt:', '/proc/net/netstat').split('\n');
    return Number(values.split(' ')[names.split(' ').indexOf(counter)] ?? 0);
  }

  /**
   * Answers every segment of connections to port 179 with a reset, at both ends, until the returned function is called. Our speaker must
   * have dialed the connection.
   */
  resetConnections(): () => void {
    const nft = (namespace: string, command: string): string => run('ip', 'netns', 'exec', namespace, 'nft', command);
    for (const [namespace, port] of [
      [this.router, 'dport'],
      [this.speaker, 'sport'],
    ] as const) {
      const rule = `tcp ${port} 179 tcp flags & rst == 0 reject with tcp reset`;
      nft(namespace, `table inet resets {\nchain input {\ntype filter hook input priority 0\n${rule}\n}\n}`);
    }
    return () => {
      for (const namespace of [this.router, this.speaker]) nft(namespace, 'delete table inet resets');
    };
  }

  /** Drops every packet between the two namespaces until the returned function is called. */
  dropEverything(): () => void {
    const table = 'table inet drops {\nchain input {\ntype filter hook input priority 0\niifname v0 drop\n}\n}';
    for (const namespace of [this.router, this.speaker]) run('ip', 'netns', 'exec', namespace, 'nft', table);
    return () => {
      for (const namespace of [this.router, this.speaker]) run('ip', 'netns', 'exec', namespace, 'nft', 'delete table inet drops');
    };
  }

  /** Kills all processes in the namespaces and removes the namespaces. */
  close(): void {
    for (const namespace of [this.router, this.speaker]) removeNamespace(namespace);
    removeFiles((name) => name === this.name);
  }
}

/** Returns the link-local address of the link's end in this namespace. */
export function linkLocalAddress(namespace: string): string {
  const [, address] = /inet6 (fe80::[0-9a-f:]+)\//.exec(run('ip', '-n', namespace, '-6', 'addr', 'show', 'dev', 'v0')) ?? [];
  if (address === undefined) throw new Error(`${namespace} has no link-local address`);
  return address;
}

let links = 0;

/**
 * No duplicate address detection, because the link owns both ends. No addresses from router advertisements: FRR sends them where IPv4
 * routes may have IPv6 next hops, and the speaker would connect from an address that its peer does not know.
 */
const settings = ['accept_dad', 'accept_ra', 'autoconf'].flatMap((name) =>
  ['all', 'default'].map((links) => `net.ipv6.conf.${links}.${name}=0`),
);

/** Removes the leftovers of runs whose process has ended. */
function sweep(prefix: string): void {
  const pattern = new RegExp(`^${prefix}-(\\d+)-(\\d+)-\\d+[rs]?$`);
  const orphaned = (name: string): boolean => {
    const [, pid, started] = pattern.exec(name) ?? [];
    return pid !== undefined && started !== undefined && !isAlive({ pid: Number(pid), started });
  };
  const namespaces = run('ip', 'netns', 'list').split('\n');
  for (const line of namespaces) {
    const [name = ''] = line.split(' ');
    if (orphaned(name)) removeNamespace(name);
  }
  removeFiles(orphaned);
}

function removeFiles(concerns: (name: string) => boolean): void {
  for (const directory of [...directoriesOf(hostRoot), ...directoriesOf(trixieRoot)]) {
    for (const name of namesIn(directory).filter(concerns)) rmSync(`${directory}/${name}`, { recursive: true, force: true });
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // the root does not exist, or has no FRR
  }
}

/** Removes a namespace. Another run may remove it at the same moment, which is no error. */
function removeNamespace(namespace: string): void {
  try {
    for (const pid of run('ip', 'netns', 'pids', namespace).split('\n').filter(Boolean)) kill(Number(pid));
    run('ip', 'netns', 'delete', namespace);
  } catch (error) {
    if (run('ip', 'netns', 'list').split(/\s/).includes(namespace)) throw error;
  }
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
