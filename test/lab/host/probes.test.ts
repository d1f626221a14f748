import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samplesOf } from '../../unit/telemetry/scrape.ts';
import { clientPlan } from '../address-plan.ts';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { standardTopology } from '../standard-topology.ts';

/** Strangers who keep connections open, and the probes of the kubelet and of a load balancer meanwhile. */
const addresses = 16;
const connections = 4096;
const suffixes = Array.from({ length: addresses }, (_, n) => 100 + n);
const strangers = { ipv4: suffixes.map((n) => `10.9.0.${n}`), ipv6: suffixes.map((n) => `fd00:9::${n}`) };
const healthCheckPort = 32_100;
let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'ledger-1', node: 'node1' }], nodes: 1 }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '40-ledger.yaml']);
  await herald.edit('40-ledger.yaml', (text) =>
    text.replace('externalTrafficPolicy: Local', `externalTrafficPolicy: Local\n  healthCheckNodePort: ${healthCheckPort}`),
  );
  await herald.prolongHoldTimes();
  await herald.start(['node1']);
  await lab
    .machine('client')
    .ip(
      ...strangers.ipv4.map((address) => `addr add ${address}/24 dev eth0`),
      ...strangers.ipv6.map((address) => `addr add ${address}/64 dev eth0 nodad`),
    );
});

afterAll(async () => {
  await lab?.stop();
});

interface Probes {
  readonly answers: number;
  /** Milliseconds. */
  readonly slowest: number;
  readonly failures: readonly string[];
}

const count = 50;

async function probe(from: 'node1' | 'client', url: string, ...address: readonly string[]): Promise<Probes> {
  const { stdout } = await lab
    .machine(from)
    .exec([process.execPath, join(import.meta.dirname, 'prober.ts'), url, String(count), ...address]);
  return JSON.parse(stdout) as Probes;
}

/** Returns how many connections the agent has closed because of a limit. */
async function endedConnections(): Promise<number> {
  const { stdout } = await lab.node('node1').exec(['curl', '-sg', 'http://10.0.0.11:10290/metrics']);
  return [...samplesOf(stdout, 'herald_http_connections_ended_total').values()].reduce((sum, number) => sum + number, 0);
}

describe.each(['ipv4', 'ipv6'] as const)('while 16 addresses keep 4,096 connections by %s', (family) => {
  const node = family === 'ipv4' ? '10.0.0.11' : '[fd00::11]';

  test.each([
    ['the health of kube-proxy', 10_256, '/healthz'],
    ['the health of the agent', 10_291, '/livez'],
    ['the health of a Service', healthCheckPort, '/'],
    ['metrics', 10_290, '/metrics'],
    ['the live API', 10_290, '/live'],
  ])('%s at port %d is answered to the node itself and to others', async (_, port, path) => {
    const url = `http://${node}:${port}${path}`;
    await lab.until(
      `${url} is answered`,
      async (note) => note((await lab.node('node1').exec(['curl', '-sgo/dev/null', url], { check: false })).code) === 0,
    );
    const before = await endedConnections();
    const each = String(connections / addresses);
    const target = node.replaceAll(/[[\]]/g, '');
    const command = [process.execPath, join(import.meta.dirname, 'flood.ts'), String(port), target, each, ...strangers[family]];
    const flood = lab.machine('client').spawn(command, { name: `flood-${family}-${port}` });
    try {
      await flood.waitForLine(new RegExp(`attempted ${connections}`));
      const [own, foreign] = await Promise.all([probe('node1', url), probe('client', url, clientPlan.address[family])]);
      // The time is printed and has no bound here: it depends on what else the machine does. Every connection is kept until the flood stops.
      console.log(`${url}: slowest probe from the node ${own.slowest} ms, from elsewhere ${foreign.slowest} ms`);
      expect(own).toMatchObject({ answers: count, failures: [] });
      expect(foreign).toMatchObject({ answers: count, failures: [] });
    } finally {
      await flood.stop();
    }
    expect(await endedConnections()).toBeGreaterThan(before);
  });
});
