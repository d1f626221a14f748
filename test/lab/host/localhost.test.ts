import { once } from 'node:events';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../namespace.ts';
import { run } from '../command.ts';
import { until } from '../until.ts';
import { clientBackend, labWithClientBackend } from './client-backend.ts';
import { documents, heraldConfig } from './objects.ts';
import { namespaceOf, type TwoNodes } from './two-nodes.ts';

/** Policy Local lets the node itself use every endpoint. */
const web = (externalTrafficPolicy: 'Cluster' | 'Local', nodePort: number, ready: boolean): string =>
  clientBackend({ type: 'NodePort', externalTrafficPolicy, port: { nodePort } }, ready);
const config = (localhostNodePorts: boolean): string => documents(heraldConfig({ localhostNodePorts }));

let lab: TwoNodes;

beforeAll(async () => {
  lab = await labWithClientBackend("require('node:http').createServer((q, r) => r.end('web sees ' + q.socket.remoteAddress))");
  await lab.write('05-config.yaml', config(true));
  await lab.write('10-web.yaml', web('Cluster', 30_080, true));
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

/** Returns the answers that a program on the node gets over IPv4 and IPv6, or the code of its error. */
async function ask(port: number): Promise<string[]> {
  const script = `for (const host of ['127.0.0.1', '[::1]'])
    console.log(await fetch('http://' + host + ':${port}/', { signal: AbortSignal.timeout(10000) }).then((r) => r.text(), (error) => error.cause?.code ?? error.name));
    process.exit(0);`;
  const { stdout } = await run(inNamespace(namespaceOf('node1'), [process.execPath, '--input-type=module', '-e', script]));
  return stdout.trim().split('\n');
}

const untilAnswers = (port: number, answers: readonly string[]): Promise<unknown> =>
  until(`${port} answers ${answers.join()}`, async (note) => note((await ask(port)).join()) === answers.join());
const good = ['web sees ::ffff:10.71.1.1', 'web sees fd71:1::1'];

test('a NodePort answers on 127.0.0.1 and ::1 if HeraldConfig enables it, whatever the policy', async () => {
  await untilAnswers(30_080, good);
  await lab.write('10-web.yaml', web('Local', 30_080, true));
  await untilAnswers(30_080, good);
  await lab.write('05-config.yaml', config(false));
  await untilAnswers(30_080, ['ECONNREFUSED', 'ECONNREFUSED']);
  await lab.write('05-config.yaml', config(true));
  await untilAnswers(30_080, good);
});

test('a connection is reset without an endpoint, and a changed NodePort moves', async () => {
  await lab.write('10-web.yaml', web('Cluster', 30_081, true));
  await untilAnswers(30_081, good);
  expect(await ask(30_080)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
  await lab.write('10-web.yaml', web('Cluster', 30_081, false));
  await untilAnswers(30_081, ['ECONNRESET', 'ECONNRESET']);
});

test('the port listens on loopback only, and an occupied port is reported', async () => {
  await lab.write('10-web.yaml', web('Cluster', 30_082, true));
  await untilAnswers(30_082, good);
  const { stdout } = await lab.exec('node1', ['ss', '-Hltn', 'sport = :30082']);
  expect(
    stdout
      .split('\n')
      .flatMap((line) => line.split(/\s+/)[3] ?? [])
      .toSorted(),
  ).toEqual(['127.0.0.1:30082', '[::1]:30082']);
  const holder = lab.spawn('node1', [
    process.execPath,
    '-e',
    `require('node:net').createServer().listen({ port: 30083, host: '127.0.0.1' }, () => console.log('up'))`,
  ]);
  if (holder.stdout !== null) await once(holder.stdout, 'data');
  await lab.write('10-web.yaml', web('Cluster', 30_083, true));
  await until('::1 is served', async (note) => note(await ask(30_083))[1] === good[1]);
  await until('the node reports the occupied port', async (note) =>
    note((await lab.report('node1')).host).some(({ code }) => code === 'LocalhostNodePortNotServed'),
  );
  holder.kill('SIGKILL');
  await untilAnswers(30_083, good);
});
