import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../peers/link.ts';
import {
  killRouter,
  prefixes,
  routerAddress,
  routerLog,
  routes,
  sessionState,
  setUp,
  speakerAddress,
  speakerNamespace,
  startRouter,
  tearDown,
  until,
  vtysh,
} from './bgp-frr-lab.ts';

/** The programs of examples/bgp beside FRR. */
const examples = join(import.meta.dirname, '../../examples/bgp');
const folder = mkdtempSync(join(tmpdir(), 'herald-examples-'));

const config = (): string => `
frr defaults datacenter
log file ${routerLog()} informational
router bgp 65001
 bgp router-id 10.99.0.1
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor ${speakerAddress[4]} remote-as 64512
 neighbor ${speakerAddress[4]} timers 3 9
 neighbor ${speakerAddress[4]} timers connect 1
 address-family ipv4 unicast
  network 203.0.113.0/24
 exit-address-family
 address-family ipv6 unicast
  network 2001:db8:5::/48
  neighbor ${speakerAddress[4]} activate
  neighbor ${speakerAddress[4]} route-map NEXTHOP out
 exit-address-family
route-map NEXTHOP permit 10
 set ipv6 next-hop global ${routerAddress[6]}
`;

const session = ['--asn', '64512', '--router-id', '10.99.0.2', '--peer', routerAddress[4], '--peer-asn', '65001'];
let started: ChildProcess | undefined;

/** Starts an example in the namespace beside the router's. */
function start(example: string, ...args: readonly string[]): ChildProcess {
  const program = [process.execPath, '--conditions=herald-source', join(examples, example), ...session, ...args];
  started = spawn('ip', ['netns', 'exec', speakerNamespace(), ...program], { stdio: ['ignore', 'pipe', 'inherit'] });
  return started;
}

/** Ends the example as an operator does, and returns its exit status. */
async function stop(): Promise<number | null> {
  const child = started;
  if (child === undefined || child.exitCode !== null) return child?.exitCode ?? null;
  const ended = new Promise<number | null>((resolve) => void child.once('exit', resolve));
  child.kill('SIGTERM');
  return ended;
}

const announced = (expected: string): Promise<string[]> =>
  until(
    () => prefixes(4),
    (all) => all.includes(expected),
  );
const withdrawn = (expected: string): Promise<string[]> =>
  until(
    () => prefixes(4),
    (all) => !all.includes(expected),
  );

describe('an example beside FRR', () => {
  beforeAll(() => setUp());
  afterAll(() => {
    tearDown();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => startRouter(config()));
  afterEach(async () => {
    await stop();
    await killRouter();
  });

  test('the anycast announcer announces while its check succeeds', async () => {
    const healthy = join(folder, 'healthy');
    start('anycast.ts', '--prefix', '192.0.2.53/32', '--check', `test -e ${healthy}`, '--interval', '0.1');
    await until(
      () => sessionState(speakerAddress[4]),
      (state) => state === 'Established',
    );
    expect(prefixes(4)).not.toContain('192.0.2.53/32');
    writeFileSync(healthy, '');
    expect(await announced('192.0.2.53/32')).toContain('192.0.2.53/32');
    rmSync(healthy);
    expect(await withdrawn('192.0.2.53/32')).not.toContain('192.0.2.53/32');
    expect(sessionState(speakerAddress[4])).toBe('Established');
    expect(await stop()).toBe(0);
  });

  test("ExaBGP's own health check announces and withdraws through the example of its text API", async () => {
    const healthy = join(folder, 'healthy');
    writeFileSync(healthy, '');
    const check = ['--command', `test -e ${healthy}`, '--ip', '192.0.2.53/32', '--no-ip-setup', '--withdraw-on-down'];
    const pace = ['--interval', '0.2', '--fast-interval', '0.1', '--rise', '2', '--fall', '2'];
    const attributes = ['--up-metric', '50', '--community', '64512:7 no-export', '--large-community', '64512:1:2'];
    start('exabgp-process.ts', '--', '/usr/bin/python3', '-m', 'exabgp', 'healthcheck', '--no-syslog', ...check, ...pace, ...attributes);
    expect(await announced('192.0.2.53/32')).toContain('192.0.2.53/32');
    expect(routes(4)['192.0.2.53/32']).toMatchObject([{ metric: 50, path: '64512' }]);
    const detail = JSON.parse(vtysh('show bgp ipv4 unicast 192.0.2.53/32 json')) as { paths: Record<string, { string: string }>[] };
    expect(detail.paths[0]?.['community']?.string).toBe('64512:7 no-export');
    expect(detail.paths[0]?.['largeCommunity']?.string).toBe('64512:1:2');
    rmSync(healthy);
    expect(await withdrawn('192.0.2.53/32')).not.toContain('192.0.2.53/32');
    expect(await stop()).toBe(0);
  });

  test("a program announces two paths of a prefix and withdraws one through the example of ExaBGP's text API", async () => {
    const gone = join(folder, 'gone');
    const announce = (id: number, nextHop: string): string =>
      `echo announce route 192.0.2.53/32 next-hop ${nextHop} path-information ${id}; read -r answer`;
    const wait = `while [ ! -e ${gone} ]; do sleep 0.1; done`;
    const withdraw = 'echo withdraw route 192.0.2.53/32 path-information 7; read -r answer; exec sleep 60';
    start('exabgp-process.ts', '--', '/bin/sh', '-c', [announce(7, '10.99.0.77'), announce(9, 'self'), wait, withdraw].join('; '));
    const paths = (): string =>
      (
        JSON.parse(vtysh('show bgp ipv4 unicast 192.0.2.53/32 json')) as { paths?: { addpathRxId: number; nexthops: { ip: string }[] }[] }
      ).paths
        ?.map(({ addpathRxId, nexthops }) => `${addpathRxId} ${nexthops[0]?.ip}`)
        .toSorted()
        .join() ?? '';
    const both = `7 10.99.0.77,9 ${speakerAddress[4]}`;
    expect(await until(paths, (seen) => seen === both)).toBe(both);
    writeFileSync(gone, '');
    expect(await until(paths, (seen) => seen !== both)).toBe(`9 ${speakerAddress[4]}`);
    expect(await stop()).toBe(0);
  });

  test('the looking glass shows the route, nothing for another prefix, and the error of a bad prefix', async () => {
    start('looking-glass.ts', '--port', '8080');
    const ask = (prefix: string): { status: number; answer: unknown } => {
      const request = `fetch('http://127.0.0.1:8080/?prefix=${prefix}').then(async (a) => ({ status: a.status, answer: await a.json() }))`;
      const program = `${request}.catch(() => ({ status: 0 })).then((all) => console.log(JSON.stringify(all)))`;
      return JSON.parse(run('ip', 'netns', 'exec', speakerNamespace(), process.execPath, '-e', program)) as ReturnType<typeof ask>;
    };
    const best = { prefix: '203.0.113.0/24', from: routerAddress[4], nextHop: routerAddress[4], path: [65001] };
    const found = await until(
      () => ask('203.0.113.0/24'),
      ({ answer }) => JSON.stringify({ answer }).includes('best'),
    );
    expect(found).toEqual({ status: 200, answer: { best, others: [] } });
    expect(ask('198.51.100.0/24')).toEqual({ status: 200, answer: {} });
    expect(ask('203.0.113.0')).toMatchObject({ status: 400, answer: expect.any(String) as unknown });
    expect(await stop()).toBe(0);
  });

  test('bgpdump reads the routes of both families, a withdrawal and the session end from the collector', async () => {
    const file = join(folder, 'updates.mrt');
    start('mrt-collector.ts', '--file', file);
    const dump = (): string[] => (existsSync(file) ? run('bgpdump', '-m', file).split('\n') : []);
    const has = (text: string): Promise<string[]> =>
      until(
        () => dump(),
        (lines) => lines.some((line) => line.includes(text)),
      );
    await has('|A|10.99.0.1|65001|203.0.113.0/24|');
    const lines = await has('|2001:db8:5::/48|');
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/\|STATE\|10\.99\.0\.1\|65001\|5\|6$/),
        expect.stringMatching(/^BGP4MP\|\d+\|A\|10\.99\.0\.1\|65001\|203\.0\.113\.0\/24\|65001\|IGP\|10\.99\.0\.1\|/),
        expect.stringMatching(/\|A\|10\.99\.0\.1\|65001\|2001:db8:5::\/48\|65001\|IGP\|fd99::1\|/),
      ]),
    );
    vtysh('configure terminal', 'router bgp 65001', 'address-family ipv4 unicast', 'no network 203.0.113.0/24');
    expect(await has('|W|10.99.0.1|65001|203.0.113.0/24')).toContainEqual(expect.stringContaining('|W|10.99.0.1|65001|203.0.113.0/24'));
    expect(await stop()).toBe(0);
    expect(dump()).toContainEqual(expect.stringMatching(/\|STATE\|10\.99\.0\.1\|65001\|6\|1$/));
  });
});
