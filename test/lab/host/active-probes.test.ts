import { execFileSync, spawn } from 'node:child_process';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeLeftovers } from '../leftovers.ts';
import { until } from '../until.ts';

/** A node, and a pod in which one port answers, one refuses, one is filtered and one is rejected by a filter. */
const node = `hq-${process.pid}-node`;
const pod = `hq-${process.pid}-pod`;
const ip = (words: string): void => void execFileSync('ip', words.split(' '));
const addresses = ['192.0.2.2', '2001:db8::2'] as const;
const [open, closed, filtered, rejected] = [8_080, 8_081, 8_082, 8_083];
const children: ReturnType<typeof spawn>[] = [];

/** Starts a program in a namespace. Returns its lines, which grow. */
function start(place: string, program: string): string[] {
  const child = spawn('ip', ['netns', 'exec', place, process.execPath, '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines: string[] = [];
  if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => lines.push(line));
  return lines;
}

beforeAll(() => {
  removeLeftovers('hq');
  for (const place of [node, pod]) {
    ip(`netns add ${place}`);
    ip(`-n ${place} link set lo up`);
  }
  ip(`link add eth0 netns ${node} type veth peer name eth0 netns ${pod}`);
  for (const [place, host] of [
    [node, 1],
    [pod, 2],
  ] as const) {
    ip(`-n ${place} link set eth0 up`);
    ip(`-n ${place} addr add 192.0.2.${host}/24 dev eth0`);
    ip(`-n ${place} -6 addr add 2001:db8::${host}/64 dev eth0 nodad`);
  }
  const rules = `table inet t { chain input { type filter hook input priority 0; tcp dport ${filtered} drop; tcp dport ${rejected} reject with icmpx admin-prohibited; }; }`;
  execFileSync('ip', ['netns', 'exec', pod, 'nft', '-f', '-'], { input: rules });
});

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  for (const place of [node, pod]) ip(`netns del ${place}`);
});

const module = (path: string): string => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);

test('real sockets tell what endpoints do, and servers see an orderly end', async () => {
  // As databases do, the server speaks first. It answers the end of the probe a little later.
  const served = start(
    pod,
    `import { createServer } from 'node:net';
     const server = createServer({ allowHalfOpen: true }, (socket) => {
       socket.write('hello'.repeat(200_000));
       socket.on('error', ({ code }) => console.log(code));
       socket.on('end', () => setTimeout(() => socket.end('bye', () => console.log('end')), 200));
       socket.resume();
     });
     server.listen(${open}, '::', () => console.log('listening'));`,
  );
  await until('the server listens', (note) => note(served).includes('listening'), 20_000);
  const places = addresses.flatMap((address) => [open, closed, filtered, rejected].map((port) => ({ address, port })));
  const seen = start(
    node,
    `const { ActiveProbes } = await import(${module('agent/checks/active-probes.ts')});
     const { address } = await import(${module('net/address.ts')});
     const { systemClock } = await import(${module('system/clock.ts')});
     const { tcpProber } = await import(${module('system/http/tcp-probe.ts')});
     const targets = ${JSON.stringify(places)}.map((each) => ({ address: address(each.address), port: each.port, local: false }));
     const probe = tcpProber(systemClock, { answerMilliseconds: 1_500, closeMilliseconds: 3_000 });
     new ActiveProbes({ probe, clock: systemClock, random: Math.random }, {
       node: 'n1',
       nodes: () => ['n1'],
       targets: () => targets,
       isKnown: () => false,
       onOutcome: ({ endpoint, outcome }) => console.log(endpoint, outcome),
     }).start();`,
  );
  await until('each port has an outcome', (note) => new Set(note(seen)).size === places.length, 20_000);
  const outcomes = ['answered', 'refused', 'silent', 'refused'];
  const expected = ['192.0.2.2', '[2001:db8::2]'].flatMap((host) =>
    [open, closed, filtered, rejected].map((port, at) => `${host}:${port} ${outcomes[at]}`),
  );
  expect([...new Set(seen)].toSorted()).toEqual(expected.toSorted());
  await until('both connections have ended', (note) => note(served).length === 3, 20_000);
  expect(served).toEqual(['listening', 'end', 'end']);
});
