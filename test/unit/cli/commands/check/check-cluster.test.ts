import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { checkCommand } from '../../../../../src/cli/commands/check/check-command.ts';
import type { CheckReport } from '../../../../../src/explain/check/facts.ts';
import { FabricCluster } from '../../fabric-cluster.ts';
import type { Outcome } from '../../program.ts';

/** A cluster with the objects of examples/fabric, and a kubectl that plays `kubectl exec`: it prints the file of the pod that it is given. */
let cluster: FabricCluster;
let bin: string;

beforeEach(async () => {
  cluster = await FabricCluster.start();
  bin = join(cluster.directory, 'bin');
  await mkdir(bin);
  const kubectl = `#!/bin/sh
printf '%s\\n' "$*" >> '${bin}/calls'
for word in "$@"; do
  if [ -f "${bin}/$word.err" ]; then cat "${bin}/$word.err" >&2; exit 1; fi
  if [ -f "${bin}/$word.out" ]; then cat "${bin}/$word.out"; exit 3; fi
done
`;
  await writeFile(join(bin, 'kubectl'), kubectl);
  await chmod(join(bin, 'kubectl'), 0o755);
  vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
  for (const n of [1, 2, 3]) addAgent(n);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await cluster.stop();
});

function addAgent(n: number): void {
  const metadata = { labels: { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' } };
  cluster.server.put(
    '/api/v1/pods',
    `agent-${n}`,
    { metadata, spec: { nodeName: `node${n}` }, status: { phase: 'Running' } },
    'herald-system',
  );
}

const answer = (n: number, result: string, node = `node${n}`): Promise<void> =>
  writeFile(
    join(bin, `agent-${n}.out`),
    [
      { type: 'begin', service: 'shop/web', node },
      { type: 'probe', what: 'endpoint', protocol: 'TCP', to: '10.244.1.10:8080', on: 'node1', result, milliseconds: 1 },
      { type: 'from-a-later-version' },
      { type: 'end', probes: 1 },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
const check = (...words: readonly string[]): Promise<Outcome> => cluster.herald(checkCommand, ['service', ...words, '--no-client']);

test('each agent checks in its own pod by kubectl exec, with an argument for each word', async () => {
  for (const n of [1, 2, 3]) await answer(n, 'answered');
  const { code, stdout } = await check('shop/web', '--kubeconfig', cluster.kubeconfig, '--context', 'a');
  expect([code, stdout.split('\n')[0]]).toEqual([0, 'Every node reaches every endpoint.']);
  const calls = (await readFile(join(bin, 'calls'), 'utf8')).trim().split('\n').toSorted();
  expect(calls).toEqual(
    [1, 2, 3].map(
      (n) =>
        `--kubeconfig ${cluster.kubeconfig} --context a --namespace herald-system exec agent-${n} -- herald check node --service shop/web -o json`,
    ),
  );
  expect(cluster.server.methods).toEqual(new Set(['GET']));
});

test('a failure on one node is named, and the exit status is 3', async () => {
  for (const n of [1, 3]) await answer(n, 'answered');
  await answer(2, 'refused');
  const { code, stdout } = await check('web', '-n', 'shop');
  expect([code, stdout.split('\n')[0]]).toEqual([3, 'node2 does not reach 10.244.1.10:8080/TCP on node1 (refused).']);
});

test('who may not exec learns which Role is needed, and nothing counts as checked', async () => {
  for (const n of [1, 2, 3])
    await writeFile(
      join(bin, `agent-${n}.err`),
      `Error from server (Forbidden): pods "agent-${n}" is forbidden: User "eve" cannot create resource "pods/exec"\n`,
    );
  const { code, stdout } = await check('shop/web');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^Nothing was checked\.\n/);
  expect(stdout).toContain('the agents of node1, node2 and node3: you may not exec in pods of the namespace herald-system');
  expect(stdout).toContain('bind the Role herald-check');
});

test('an agent that does not answer leaves the check incomplete', async () => {
  for (const n of [1, 2]) await answer(n, 'answered');
  await writeFile(join(bin, 'agent-3.err'), "error: unknown command 'check'\n");
  const { code, stdout } = await check('shop/web', '-o', 'json');
  const { verdict, outcome, unchecked } = JSON.parse(stdout) as CheckReport;
  expect([code, outcome, verdict]).toEqual([2, 'incomplete', 'node1 and node2 reach every endpoint; node3 was not checked.']);
  expect(unchecked[0]).toEqual({ what: 'the agent of node3', why: 'its version has no checks', fix: 'update it' });
});

test('without kubectl the command says what to install', async () => {
  vi.stubEnv('PATH', '/nonexistent');
  const { code, stdout } = await check('shop/web', '--node', 'node1');
  expect(code).toBe(1);
  expect(stdout).toMatch(/the agent of node1: kubectl is not in PATH.*\n {4}fix: install kubectl\n/);
});

test('the command line names one Service that exists, or --all', async () => {
  expect((await check()).code).toBe(64);
  expect((await check('shop/web', '--all')).code).toBe(64);
  expect(await check('shop/none')).toMatchObject({ code: 1, stderr: expect.stringContaining('Service shop/none') });
  expect(await check('shop/web', '--node', 'node9')).toMatchObject({ code: 1, stderr: expect.stringContaining('node node9') });
  const { stdout } = await check('--all', '-n', 'shop', '-o', 'json');
  expect((JSON.parse(stdout) as { services: CheckReport[] }).services.map(({ service }) => service)).toEqual(['shop/web']);
});
