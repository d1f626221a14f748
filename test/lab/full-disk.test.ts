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

/** A controller whose folder .herald is a small file system of its own, which no other process sees. */
const namespace = `hl-fd-${process.pid}`;
const program = join(import.meta.dirname, '../../bin/herald');
const directory = mkdtempSync(join(tmpdir(), 'herald-full-'));
const socket = join(directory, 'controller.sock');
let controller: LabProcess;

const manifest = (kind: string, name: string, body: object): object => ({
  apiVersion: kind === 'Service' ? 'v1' : 'herald.dev/v1alpha1',
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
const inside = (...argv: readonly string[]) => run(['nsenter', '-t', String(controller.pid), '-m', ...argv], { check: false });

const addressOf = async (name: string): Promise<string | undefined> => {
  const { stdout } = await inside('sh', '-c', `cat ${directory}/.herald/status/services/shop/${name}.yaml 2>/dev/null`);
  return /ip: (\S+)/.exec(stdout)?.[1];
};

const http = async (port: number, path: string): Promise<string> =>
  (await run(inNamespace(namespace, ['curl', '-s', `http://127.0.0.1:${port}${path}`]), { check: false })).stdout;

const logged = (message: string): number => controller.lines().filter((line) => line.includes(message)).length;

beforeAll(async () => {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, false);
  await mkdir(join(directory, '.herald'));
  await put('IPAddressPool', 'main', { spec: { addresses: ['192.0.2.0/24'] } });
  await service('first', '10.96.0.10');
  const start = `mount -t tmpfs -o size=64k tmpfs ${directory}/.herald && exec ${program} controller --source ${directory} --socket ${socket}`;
  controller = new LabProcess(['setpriv', '--pdeathsig', 'KILL', '--', ...inNamespace(namespace, ['unshare', '-m', 'sh', '-c', start])], {
    logFile: join(directory, 'controller.log'),
    record: () => undefined,
  });
  await until('the first Service has an address', () => addressOf('first'), 60_000);
});

afterAll(async () => {
  controller?.kill('SIGKILL');
  await controller?.exited;
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
