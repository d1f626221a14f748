import { realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainCommand } from '../../../../../src/cli/commands/explain-command.ts';
import { statusCommand } from '../../../../../src/cli/commands/tables/status-command.ts';
import { LiveApi } from '../../../../../src/live/live-api.ts';
import { livePaths, type RefusedStatuses } from '../../../../../src/live/contract.ts';
import { limits } from '../../../../../src/live/limits.ts';
import { RecordHealth } from '../../../../../src/sources/directory/records/record-health.ts';
import { listenLocal, type LocalListener } from '../../../../../src/system/http/local-socket.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { inProcess } from '../../in-process.ts';
import { discard, scratch, type Outcome } from '../../program.ts';

/** A controller of the directory that answers at a socket. */
let directory: string;
let records: RecordHealth;
let refused: RefusedStatuses | undefined;
let listener: LocalListener;
/** The paths that were requested at the socket. */
let requests: string[];

const socket = (): string => join(directory, 'controller.sock');

beforeEach(async () => {
  directory = await scratch('10-cluster.yaml', '20-herald.yaml');
  records = new RecordHealth(silentLog);
  const live = new LiveApi(new VirtualClock(), { command: 'controller', version: '1.2.3', directory: await realpath(directory) });
  live.followRecords(() => records.unwritten());
  refused = undefined;
  live.followRefusals(() => refused);
  const missing = { status: 404, headers: {}, body: '' };
  requests = [];
  const answer = ({ path, query }: Parameters<Parameters<typeof listenLocal>[1]>[0]) => {
    requests.push(path);
    return live.answer(path, query) ?? missing;
  };
  listener = await listenLocal(socket(), answer, limits);
});

afterEach(async () => {
  await listener.close();
  await discard(directory);
});

const status = (...words: readonly string[]): Promise<Outcome> =>
  inProcess(statusCommand, ['--source', directory, '--socket', socket(), ...words]);

test('status shows that a process cannot write its records, with the fix, until it can', async () => {
  expect((await status()).stdout).not.toContain('Records');
  for (const name of ['web', 'tea']) records.failed(`.herald/status/services/shop/${name}.yaml`, 'ENOSPC');
  expect((await status()).stdout).toContain(
    'Records     the controller cannot write to the directory: no space is left (records that wait: 2, such as .herald/status/services/shop/web.yaml)\n',
  );
  const { stdout, code } = await status('--problems');
  expect(stdout).toMatch(
    /^the controller +RecordsUnwritten +The controller cannot write to the directory: no space is left \(.*\)\. Free space on the file system of the directory; what waits is then written\.$/m,
  );
  expect(code).toBe(3);
  for (const name of ['web', 'tea']) records.written(`.herald/status/services/shop/${name}.yaml`);
  expect((await status('--problems')).stdout).not.toContain('RecordsUnwritten');
});

test('status --no-ask does not query the process', async () => {
  records.failed('.herald/nodes/node1.yaml', 'EROFS');
  expect((await status('--no-ask')).stdout).not.toContain('Records');
});

test('status asks the process once', async () => {
  for (const words of [[], ['--problems']]) {
    requests = [];
    await status(...words);
    expect(requests).toEqual([livePaths.index]);
  }
});

const problem =
  'the API server answered 403: services "tea" is forbidden: User "system:serviceaccount:herald-system:herald-controller" cannot patch resource "services/status" in API group "" in the namespace "shop"';

test('status says first which right a controller lacks, for which account', async () => {
  refused = { services: 3, names: ['shop/tea'], problem };
  const fix = /rule of the ClusterRole: apiGroups \[""\], resources \[services\/status\], verbs \[patch\]/;
  const screen = (await status()).stdout;
  expect(screen).toContain(
    `Status      the controller may not write the status of 3 Services, such as shop/tea, so addresses and conditions are not recorded: ${problem}.`,
  );
  expect(screen).toMatch(fix);
  const { stdout, code } = await status('--problems');
  const [, first = ''] = stdout.split('\n');
  expect(first).toMatch(/^the controller +StatusWriteRefused +The controller may not write/);
  expect(first).toContain('User "system:serviceaccount:herald-system:herald-controller" cannot patch resource "services/status"');
  expect(first).toMatch(fix);
  expect(code).toBe(3);
});

test('explain says of a Service without an address, and of no other, that the controller may not write its status', async () => {
  refused = { services: 1, names: ['shop/tea'], problem };
  for (const [index, name] of ['tea', 'web'].entries()) {
    const spec = { type: 'LoadBalancer', clusterIP: `10.96.0.${80 + index}`, ports: [{ port: 80 }] };
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'shop', name }, spec };
    await writeFile(join(directory, `${name}.yaml`), JSON.stringify(service));
  }
  const explain = (service: string): Promise<Outcome> =>
    inProcess(explainCommand, ['service', service, '--source', directory, '--socket', socket()]);
  const [first] = (await explain('shop/tea')).stdout.split('\n');
  expect(first).toContain(
    `Not served: the controller may not write the status of Service shop/tea, so addresses and conditions are not recorded: ${problem}.`,
  );
  expect((await explain('shop/web')).stdout).not.toContain('may not write the status');
});
