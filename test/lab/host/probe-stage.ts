import { join } from 'node:path';
import process from 'node:process';
import { samplesOf } from '../../unit/telemetry/scrape.ts';
import { clientPlan } from '../address-plan.ts';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { standardTopology } from '../standard-topology.ts';

export type Family = 'ipv4' | 'ipv6';

/** Strangers, and how many connections they keep open in all. */
export const addresses = 16;
export const connections = 4096;
/** Probes from each side. */
export const count = 50;
const healthCheckPort = 32_100;
const suffixes = Array.from({ length: addresses }, (_, n) => 100 + n);
const strangers = { ipv4: suffixes.map((n) => `10.9.0.${n}`), ipv6: suffixes.map((n) => `fd00:9::${n}`) };

/** What answers, its port and its path. */
export const probed = [
  ['the health of kube-proxy', 10_256, '/healthz'],
  ['the health of the agent', 10_291, '/livez'],
  ['the health of a Service', healthCheckPort, '/'],
  ['metrics', 10_290, '/metrics'],
  ['the live API', 10_290, '/live'],
] as const;

/** The probes of one side. */
export interface Probes {
  readonly answers: number;
  /** Milliseconds. */
  readonly slowest: number;
  readonly failures: readonly string[];
}

interface Flooded {
  /** From the node itself, as a kubelet does. */
  readonly own: Probes;
  /** From another address, as a load balancer does. */
  readonly foreign: Probes;
  /** Connections that the agent closed meanwhile because of a limit. */
  readonly ended: number;
}

/** An agent in the lab, strangers who keep connections to it open, and the probes of a kubelet and of a load balancer meanwhile. */
export class ProbeStage {
  readonly #lab: Lab;

  private constructor(lab: Lab) {
    this.#lab = lab;
  }

  static async start(): Promise<ProbeStage> {
    const lab = await Lab.start(standardTopology({ pods: [{ name: 'ledger-1', node: 'node1' }], nodes: 1 }));
    const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '40-ledger.yaml']);
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
    return new ProbeStage(lab);
  }

  /** Probes the port while all connections to it are open. */
  async flood(family: Family, port: number, path: string): Promise<Flooded> {
    const node = family === 'ipv4' ? '10.0.0.11' : '[fd00::11]';
    const url = `http://${node}:${port}${path}`;
    const lab = this.#lab;
    await lab.until(
      `${url} is answered`,
      async (note) => note((await lab.node('node1').exec(['curl', '-sgo/dev/null', url], { check: false })).code) === 0,
    );
    const before = await this.#endedConnections();
    const each = String(connections / addresses);
    const target = node.replaceAll(/[[\]]/g, '');
    const command = [process.execPath, join(import.meta.dirname, 'flood.ts'), String(port), target, each, ...strangers[family]];
    const flood = lab.machine('client').spawn(command, { name: `flood-${family}-${port}` });
    try {
      await flood.waitForLine(new RegExp(`attempted ${connections}`));
      const [own, foreign] = await Promise.all([this.#probe('node1', url), this.#probe('client', url, clientPlan.address[family])]);
      return { own, foreign, ended: (await this.#endedConnections()) - before };
    } finally {
      await flood.stop();
    }
  }

  async stop(): Promise<void> {
    await this.#lab.stop();
  }

  async #probe(from: 'node1' | 'client', url: string, ...address: readonly string[]): Promise<Probes> {
    const { stdout } = await this.#lab
      .machine(from)
      .exec([process.execPath, join(import.meta.dirname, 'prober.ts'), url, String(count), ...address]);
    return JSON.parse(stdout) as Probes;
  }

  async #endedConnections(): Promise<number> {
    const { stdout } = await this.#lab.node('node1').exec(['curl', '-sg', 'http://10.0.0.11:10290/metrics']);
    return [...samplesOf(stdout, 'herald_http_connections_ended_total').values()].reduce((sum, number) => sum + number, 0);
  }
}
