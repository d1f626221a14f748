import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Link, routerAddress, run } from '../peers/link.ts';
import { startSpeaker, type SpeakerProcess } from '../peers/speaker-process.ts';
import { inNamespace } from './namespace.ts';
import { until } from './until.ts';

/** Seconds. The router sends a keepalive each second, so a router that is suspended for a few seconds loses no session. */
const holdTime = 6;
const seconds = 4 * holdTime;
const routes = 40_000;
let link: Link;
let speaker: SpeakerProcess;
let router: ChildProcess;
let output: string;

beforeEach(() => {
  link = new Link('hr');
  // The buffers are small, so that a few routes fill them and close the router's window.
  run('ip', 'netns', 'exec', link.router, 'sysctl', '-qw', 'net.ipv4.tcp_rmem=4096 8192 16384');
  run('ip', 'netns', 'exec', link.speaker, 'sysctl', '-qw', 'net.ipv4.tcp_wmem=4096 16384 16384');
  const [file = '', ...rest] = inNamespace(link.router, [
    process.execPath,
    join(import.meta.dirname, 'bgp-slow-reader.ts'),
    String(holdTime),
    String(seconds),
  ]);
  router = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  output = '';
  router.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()));
  speaker = startSpeaker(link.speaker);
});

afterEach(async () => {
  await speaker.kill();
  router.kill('SIGKILL');
  link.close();
});

interface Status {
  readonly state: string;
  readonly counters: { readonly established: number; readonly flaps: number };
}

test.each([4, 6] as const)('BGP-108 a router that only sends keepalives for four hold times keeps its IPv%i session', async (family) => {
  const status = async (): Promise<Status> => (await speaker.call('status', 'router')) as Status;
  await speaker.call('addPeer', { name: 'router', address: routerAddress[family], holdTime, families: [4, 6] });
  await speaker.call('setMany', 'router', routes, [family]);
  await until('the router has accepted the connection', () => output.includes('waits'));
  await until("the router's window is closed", (note) => {
    return note(run('ip', 'netns', 'exec', link.speaker, 'ss', '-Htno', 'dport', '=', ':179')).includes('persist');
  });
  await until('the router reads again', () => output.includes('reads'));
  expect(output).not.toContain('closed');
  await until(
    'the router has all routes',
    (note) =>
      Number(
        note(output.match(/octets \d+/g) ?? [])
          .at(-1)
          ?.slice(7),
      ) >
      routes * (family === 4 ? 5 : 17),
  );
  expect(await status()).toMatchObject({ state: 'Established', counters: { established: 1, flaps: 0 } });
});
