import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SpeakerOptions } from '../../src/bgp/index.ts';
import { kill, Link, run } from '../peers/link.ts';
import { startSpeaker as startSpeakerIn, type SpeakerProcess } from '../peers/speaker-process.ts';
import { identify } from './owner.ts';
import { patience } from './until.ts';

export { routerAddress, speakerAddress } from '../peers/link.ts';

/** An FRR router in its own network namespace, connected by a veth pair to the speaker's namespace. */
let link: Link | undefined;

function current(): Link {
  if (link === undefined) throw new Error('setUp comes first');
  return link;
}

const runDirectory = (): string => `/run/frr/${current().name}`;
export const routerLog = (): string => `${runDirectory()}/bgpd.log`;

export function setUp(): void {
  link = new Link('hb');
}

export function tearDown(): void {
  link?.close();
  link = undefined;
}

export function startRouter(config: string): void {
  const { name, router } = current();
  const configDirectory = `/etc/frr/${name}`;
  run('install', '-d', '-o', 'frr', '-g', 'frrvty', '-m', '0775', runDirectory());
  mkdirSync(configDirectory, { recursive: true });
  writeFileSync(join(configDirectory, 'frr.conf'), config);
  writeFileSync(join(configDirectory, 'vtysh.conf'), '');
  run('chown', '-R', 'frr:frr', configDirectory);
  // bgpd runs without zebra and installs no routes in the kernel. These tests ask bgpd for its routes.
  run('ip', 'netns', 'exec', router, '/usr/lib/frr/bgpd', '-d', '-Z', '-n', '-N', name, '-A', '127.0.0.1');
  run('vtysh', '-N', name, '-b');
}

/** Kills the router with SIGKILL, so that it sends no NOTIFICATION. When this resolves, its port is free. */
export async function killRouter(): Promise<void> {
  for (const file of readdirSync(runDirectory()).filter((file) => file.endsWith('.pid'))) {
    const pid = Number(readFileSync(join(runDirectory(), file), 'utf8'));
    kill(pid);
    await until(
      () => identify(pid),
      (left) => left === undefined,
    );
  }
  rmSync(runDirectory(), { recursive: true, force: true });
}

export function vtysh(...commands: string[]): string {
  return run('vtysh', '-N', current().name, ...commands.flatMap((command) => ['-c', command]));
}

export function show(command: string): Record<string, unknown> {
  return JSON.parse(vtysh(`show ${command} json`)) as Record<string, unknown>;
}

/** Returns the state of the session with us, as FRR sees it. */
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

/** Returns FRR's routes by prefix. */
export function routes(family: 4 | 6): Record<string, readonly FrrPath[]> {
  return (show(`bgp ipv${family} unicast`)['routes'] ?? {}) as Record<string, readonly FrrPath[]>;
}

export const prefixes = (family: 4 | 6): string[] => Object.keys(routes(family)).sort();

/** Asks until the answer is the expected one or the time is over, and returns the latest answer. */
export async function until<T>(ask: () => T | Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const deadline = performance.now() + patience;
  for (;;) {
    const answer = await ask();
    if (holds(answer) || performance.now() > deadline) return answer;
    await sleep(50);
  }
}

/** The namespace at the other end of the router's link. */
export const speakerNamespace = (): string => current().speaker;

export const startSpeaker = (options: SpeakerOptions = {}): SpeakerProcess => startSpeakerIn(current().speaker, options);
