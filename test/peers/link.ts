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
 * Two network namespaces joined by a veth pair `v0`: one for another daemon, one for our speaker. Their names carry the
 * process that made them, so that two runs do not meet and what a killed one left is known to be nobody's.
 */
export class Link {
  /** Of this link alone, also for files: PREFIX-PID-STARTED-NUMBER. */
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
      run('ip', 'netns', 'exec', namespace, 'sysctl', '-qw', 'net.ipv6.conf.default.accept_dad=0', 'net.ipv6.conf.all.accept_dad=0');
      // FRR sends router advertisements once extended next hops are on: our side must not connect from an address made of one.
      run('ip', 'netns', 'exec', namespace, 'sysctl', '-qw', 'net.ipv6.conf.default.autoconf=0', 'net.ipv6.conf.default.accept_ra=0');
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

  /** Segments that the kernel of the daemon's namespace has dropped for a wrong TCP MD5 signature. */
  md5Failures(): number {
    const [names = '', values = ''] = run('ip', 'netns', 'exec', this.router, 'grep', '^TcpExt:', '/proc/net/netstat').split('\n');
    return Number(values.split(' ')[names.split(' ').indexOf('TCPMD5Failure')] ?? 0);
  }

  /** Ends everything in the namespaces and removes them. */
  close(): void {
    for (const namespace of [this.router, this.speaker]) removeNamespace(namespace);
    removeFiles((name) => name === this.name);
  }
}

let links = 0;

/** Removes what runs that no longer live have left behind. */
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
    return []; // there is no such root, or no FRR in it
  }
}

/** Another run may sweep at the same moment, so that what is to be removed may be gone. */
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
    // It has ended by itself.
  }
}
