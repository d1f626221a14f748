import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A router of FRR in a network namespace of its own, on a veth pair with a speaker's namespace. Names begin with "hb-";
 * whatever a killed run left behind under that name is removed before the next one begins.
 */
export const routerNamespace = 'hb-frr';
export const speakerNamespace = 'hb-speaker';
export const routerAddress = { 4: '10.99.0.1', 6: 'fd99::1' } as const;
export const speakerAddress = { 4: '10.99.0.2', 6: 'fd99::2' } as const;

const runDirectory = `/var/run/frr/${routerNamespace}`;
export const routerLog = `${runDirectory}/bgpd.log`;
const configDirectory = `/etc/frr/${routerNamespace}`;

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

export function setUp(): void {
  tearDown();
  for (const namespace of [routerNamespace, speakerNamespace]) {
    run('ip', 'netns', 'add', namespace);
    run('ip', '-n', namespace, 'link', 'set', 'lo', 'up');
  }
  run('ip', 'link', 'add', 'v0', 'netns', routerNamespace, 'type', 'veth', 'peer', 'name', 'v0', 'netns', speakerNamespace);
  for (const [namespace, address] of [
    [routerNamespace, routerAddress],
    [speakerNamespace, speakerAddress],
  ] as const) {
    run('ip', '-n', namespace, 'addr', 'add', `${address[4]}/24`, 'dev', 'v0');
    run('ip', '-n', namespace, 'addr', 'add', `${address[6]}/64`, 'dev', 'v0', 'nodad');
    run('ip', '-n', namespace, 'link', 'set', 'v0', 'up');
  }
}

export function tearDown(): void {
  for (const namespace of [routerNamespace, speakerNamespace]) {
    if (!existsSync(`/run/netns/${namespace}`)) continue;
    for (const pid of processesIn(namespace)) kill(pid);
    run('ip', 'netns', 'delete', namespace);
  }
  rmSync(runDirectory, { recursive: true, force: true });
  rmSync(configDirectory, { recursive: true, force: true });
}

/** Those that run inside a namespace that only this lab makes. */
function processesIn(namespace: string): number[] {
  return run('ip', 'netns', 'pids', namespace).split('\n').filter(Boolean).map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

export function startRouter(config: string): void {
  run('install', '-d', '-o', 'frr', '-g', 'frrvty', '-m', '0775', runDirectory);
  mkdirSync(configDirectory, { recursive: true });
  writeFileSync(join(configDirectory, 'frr.conf'), config);
  writeFileSync(join(configDirectory, 'vtysh.conf'), '');
  run('chown', '-R', 'frr:frr', configDirectory);
  // Without zebra, and without routes in the kernel: what bgpd knows is what these tests ask for.
  run('ip', 'netns', 'exec', routerNamespace, '/usr/lib/frr/bgpd', '-d', '-Z', '-n', '-N', routerNamespace, '-A', '127.0.0.1');
  run('vtysh', '-N', routerNamespace, '-b');
}

/** kill -9: no NOTIFICATION. */
export function killRouter(): void {
  if (!existsSync(runDirectory)) return;
  for (const name of readdirSync(runDirectory).filter((name) => name.endsWith('.pid'))) {
    kill(Number(readFileSync(join(runDirectory, name), 'utf8')));
  }
  rmSync(runDirectory, { recursive: true, force: true });
}

export function vtysh(...commands: string[]): string {
  return run('vtysh', '-N', routerNamespace, ...commands.flatMap((command) => ['-c', command]));
}

export function show(command: string): Record<string, unknown> {
  return JSON.parse(vtysh(`show ${command} json`)) as Record<string, unknown>;
}

/** The state that FRR has the session with us in. */
export function sessionState(address: string): string {
  const neighbor = show(`bgp neighbors ${address}`)[address] as { bgpState?: string } | undefined;
  return neighbor?.bgpState ?? 'none';
}

interface FrrPath {
  readonly valid?: boolean;
  readonly origin: string;
  readonly metric?: number;
  readonly path: string;
  readonly nexthops: readonly { readonly ip: string }[];
}

/** The routes that FRR has, by prefix. */
export function routes(family: 4 | 6): Record<string, readonly FrrPath[]> {
  return (show(`bgp ipv${family} unicast`)['routes'] ?? {}) as Record<string, readonly FrrPath[]>;
}

export const prefixes = (family: 4 | 6): string[] => Object.keys(routes(family)).sort();

/** Asks until the answer is the expected one; then, or after the time is up, returns the latest answer. */
export async function until<T>(ask: () => T | Promise<T>, holds: (answer: T) => boolean, milliseconds = 20_000): Promise<T> {
  const deadline = performance.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (holds(answer) || performance.now() > deadline) return answer;
    await sleep(50);
  }
}

export type Call = (method: string, ...args: unknown[]) => Promise<unknown>;

/** The speaker in its own process, inside its namespace, called over a pipe. */
export function startSpeaker(): { readonly call: Call; readonly stop: () => void } {
  const script = join(import.meta.dirname, 'bgp-frr-speaker.ts');
  const child: ChildProcess = spawn('ip', ['netns', 'exec', speakerNamespace, process.execPath, script], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  child.on('message', (reply: { id: number; value?: unknown; error?: string }) => {
    const call = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.error === undefined) call?.resolve(reply.value);
    else call?.reject(new Error(reply.error));
  });
  child.on('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error('the speaker has ended'));
    waiting.clear();
  });
  let calls = 0;
  return {
    call: (method, ...args) =>
      new Promise((resolve, reject) => {
        const id = calls++;
        waiting.set(id, { resolve, reject });
        child.send({ id, method, args });
      }),
    stop: () => void child.kill('SIGKILL'),
  };
}
