import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './command.ts';
import { LabProcess } from './lab-process.ts';
import { inNamespace, ip, prepareNamespace } from './namespace.ts';
import { until } from './until.ts';

/** A controller and an agent whose folder .herald is a small file system of its own, which no other process sees. */
const namespace = `hl-fd-${process.pid}`;
const program = join(import.meta.dirname, '../../bin/herald');
const directory = mkdtempSync(join(tmpdir(), 'herald-full-'));
const socket = join(directory, 'controller.sock');
let controller: LabProcess;
let agent: LabProcess;
/** Keeps the small file system while no process of Herald runs. */
let holder: LabProcess;

const manifest = (kind: string, name: string, body: object): object => ({
  apiVersion: kind === 'Service' || kind === 'Node' ? 'v1' : 'herald.dev/v1alpha1',
  kind,
  metadata: kind === 'Service' ? { name, namespace: 'shop' } : { name },
  ...body,
});

async function put(kind: string, name: string, body: object): Promise<void> {
  // JSON is YAML.
  await writeFile(join(directory, `${kind}-${name}.yaml`), JSON.stringify(manifest(kind, name, body)));
}

const service = (name: string, clusterIP: string): Promise<void> =>
  put('Service', name, { spec: { type: 'LoadBalancer', clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, nodePort: 30_080 }] } });

/** Runs a command where the controller's file systems are visible. */
const inside = (...argv: readonly string[]) => run(['nsenter', '-t', String(holder.pid), '-m', ...argv], { check: false });

const addressOf = async (name: string): Promise<string | undefined> => {
  const { stdout } = await inside('sh', '-c', `cat ${directory}/.herald/status/services/shop/${name}.yaml 2>/dev/null`);
  return /ip: (\S+)/.exec(stdout)?.[1];
};

const http = async (port: number, path: string): Promise<string> =>
  (await run(inNamespace(namespace, ['curl', '-s', `http://127.0.0.1:${port}${path}`]), { check: false })).stdout;

const logged = (message: string): number => controller.lines().filter((line) => line.includes(message)).length;

function begin(name: string, argv: readonly string[]): LabProcess {
  return new LabProcess(['setpriv', '--pdeathsig', 'KILL', '--', ...inNamespace(namespace, argv)], {
    logFile: join(directory, `${name}.log`),
    record: () => undefined,
  });
}

const start = (name: string, ...argv: readonly string[]): LabProcess =>
  begin(name, ['nsenter', '-t', String(holder.pid), '-m', program, ...argv, '--source', directory]);

const startController = (): LabProcess => start('controller', 'controller', '--socket', socket);
const startAgent = (): LabProcess => start('agent', 'agent', '--node', 'node1', '--socket', 'none', '--kernel-settings', 'report');

beforeAll(async () => {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, false);
  await mkdir(join(directory, '.herald'));
  await put('IPAddressPool', 'main', { spec: { addresses: ['192.0.2.0/24'] } });
  await put('Node', 'node1', { status: { addresses: [{ type: 'InternalIP', address: '10.99.0.1' }] } });
  await service('first', '10.96.0.10');
  holder = begin('holder', [
    'unshare',
    '-m',
    'sh',
    '-c',
    `mount -t tmpfs -o size=64k tmpfs ${directory}/.herald && echo mounted && exec sleep infinity`,
  ]);
  await holder.waitForLine(/mounted/);
  controller = startController();
  await until('the first Service has an address', () => addressOf('first'), 60_000);
});

afterAll(async () => {
  for (const one of [agent, controller, holder]) {
    one?.kill('SIGKILL');
    await one?.exited;
  }
  await run(['ip', 'netns', 'del', namespace], { check: false });
  rmSync(directory, { recursive: true, force: true });
});

test('a full disk shows once in the log, in readiness, in a metric and in status, and no address is lost', async () => {
  const first = await addressOf('first');
  expect((await inside('dd', 'if=/dev/zero', `of=${directory}/.herald/filler`, 'bs=1k', 'count=1024')).stderr).toContain('No space left');
  await service('second', '10.96.0.11');
  await service('third', '10.96.0.12');
  await until('the log says that records cannot be written', async () => logged('records cannot be written') > 0, 60_000);
  const line = controller.lines().find((one) => one.includes('records cannot be written')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ code: 'ENOSPC', problem: 'no space is left', fix: expect.stringContaining('free space') });
  await until('both wait', async () => /herald_records_unwritten [2-9]/.test(await http(10_292, '/metrics')), 60_000);
  expect(await http(10_293, '/readyz')).toMatch(/\[-\]records: no space is left: \d+ records wait to be written/);
  const status = await run([program, 'status', '--problems', '--source', directory, '--socket', socket], { check: false });
  expect(status.stdout).toMatch(
    /^the controller +RecordsUnwritten +The controller cannot write to the directory: no space is left .* Free space on/m,
  );
  expect(status.code).toBe(3);
  expect(await addressOf('first')).toBe(first);
  expect(await addressOf('second')).toBeUndefined();

  await inside('rm', `${directory}/.herald/filler`);
  const addresses = await until(
    'both have addresses',
    async () => {
      const both = [await addressOf('second'), await addressOf('third')];
      return both.every((one) => one !== undefined) && both;
    },
    180_000,
  );
  expect(new Set([first, ...addresses]).size).toBe(3);
  await until('the log says that all is written', async () => logged('all records are written again') === 1, 180_000);
  expect(logged('records cannot be written')).toBe(1);
  expect(await http(10_293, '/readyz')).toContain('[+]records ok');
  expect((await readFile(join(directory, 'controller.log'), 'utf8')).includes('failed, will be retried')).toBe(false);
}, 400_000);

test('controller and agent wait for space when they start on a full disk after kill -9, and then work', async () => {
  agent = startAgent();
  await agent.waitForLine(/agent started/);
  const first = await addressOf('first');
  const locks = async (): Promise<string[]> =>
    (await inside('find', `${directory}/.herald`, '-name', '*.lock*')).stdout.trim().split('\n').toSorted();
  const before = await locks();
  for (const one of [agent, controller]) {
    one.kill('SIGKILL');
    await one.exited;
  }
  await inside('dd', 'if=/dev/zero', `of=${directory}/.herald/filler`, 'bs=1k', 'count=1024');
  for (const log of ['agent.log', 'controller.log']) await writeFile(join(directory, log), '');
  [agent, controller] = [startAgent(), startController()];
  for (const [one, lock, port] of [
    [agent, '.herald/nodes/node1.lock', 10_291],
    [controller, '.herald/controller.lock', 10_293],
  ] as const) {
    const line = await one.waitForLine(/records cannot be written/);
    expect(JSON.parse(line)).toMatchObject({ code: 'ENOSPC', file: lock, fix: expect.stringContaining('free space') });
    expect(await http(port, '/readyz')).toMatch(/\[-\]records: no space is left: 1 records wait to be written, such as .*\.lock/);
    expect((await http(port, '/livez')).trim()).toMatch(/ok/);
  }
  await service('fourth', '10.96.0.13');
  await inside('rm', `${directory}/.herald/filler`);
  await agent.waitForLine(/agent started/);
  await until('the fourth Service has an address', () => addressOf('fourth'), 60_000);
  expect(await addressOf('first')).toBe(first);
  expect(await locks()).toEqual(before);
  for (const one of [agent, controller]) expect(one.lines().filter((line) => line.includes('records cannot be written'))).toHaveLength(1);
}, 400_000);
