import { setTimeout as sleep } from 'node:timers/promises';
import { examples, HeraldInLab, type RecordedSession } from './herald.ts';
import { Lab, type Probe } from './lab.ts';
import { nextHops, untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

export const nodes = ['node1', 'node2'] as const;
export const tors = ['tor1', 'tor2'] as const;
export type Node = (typeof nodes)[number];
export type Tor = (typeof tors)[number];

/** The hold time of BGP sessions in the examples, in seconds. */
export const holdTime = 3;

/** The times after which sessions and the client take silence for a failure. */
export interface Timeouts {
  /** Seconds. It is three times the keepalive time. */
  readonly holdTime: number;
  /** Milliseconds until a request fails. */
  readonly requestMs: number;
}

/** For measuring times. */
export const shortTimeouts: Timeouts = { holdTime, requestMs: 1_000 };

/** For tests that measure no times: a process that is suspended for some seconds does not count as dead. */
export const longTimeouts: Timeouts = { holdTime: 9, requestMs: 10_000 };

/** Two nodes behind two ToRs with the example Service, and a client that sends requests while a fault lasts. */
export class RecoveryBed {
  readonly lab: Lab;
  readonly herald: HeraldInLab;
  readonly addresses: readonly string[];
  readonly timeouts: Timeouts;

  private constructor(lab: Lab, herald: HeraldInLab, addresses: readonly string[], patience: Timeouts) {
    this.lab = lab;
    this.herald = herald;
    this.addresses = addresses;
    this.timeouts = patience;
  }

  static async start(patience: Timeouts): Promise<RecoveryBed> {
    const lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })), nodes: 2 }));
    try {
      const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
      await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node3.*\n/g, ''));
      if (patience.holdTime !== holdTime)
        await herald.edit('20-herald.yaml', (text) => text.replaceAll(timers(holdTime), timers(patience.holdTime)));
      await herald.start(nodes);
      const bed = new RecoveryBed(lab, herald, await herald.untilAssigned('shop/web', 2), patience);
      await bed.untilAll();
      return bed;
    } catch (error) {
      await lab.stop();
      throw error;
    }
  }

  /** The timers of each BGPPeer, as its manifest has them. */
  get timers(): string {
    return timers(this.timeouts.holdTime);
  }

  /** Waits until every ToR sends to every node over sessions that are up. Routes alone could be stale. */
  async untilAll(milliseconds = 60_000): Promise<void> {
    for (const node of nodes) for (const tor of tors) await this.untilSessions(node, tor, 'Established', milliseconds);
    for (const tor of tors) await this.untilRoutes(tor, nodes, milliseconds);
    for (const address of this.addresses) await untilSpineRoutes(this.lab, address);
  }

  async untilRoutes(tor: Tor, via: readonly string[], milliseconds = 60_000): Promise<void> {
    for (const address of this.addresses) await untilNextHops(this.lab, tor, address, viaNodes(tor, via, address), milliseconds);
  }

  /** Waits until the ToR sends no packet directly to the node. It may have another path. */
  async untilNoDirectPath(tor: Tor, node: Node, milliseconds = 60_000): Promise<void> {
    for (const address of this.addresses) {
      const [way = ''] = viaNodes(tor, [node], address);
      await this.lab.until(
        `${tor} does not send ${address} to ${node}`,
        async (note) => !note(await nextHops(this.lab, tor, address)).includes(way),
        milliseconds,
      );
    }
  }

  /** Returns the sessions of both families. */
  async sessions(node: string, tor: Tor): Promise<readonly RecordedSession[]> {
    return (await this.herald.sessions(node)).filter(({ peer }) => peer.startsWith(tor));
  }

  /** Waits for a state of both sessions. "down" is any state but Established. States that were entered before `since` do not count. */
  untilSessions(
    node: string,
    tor: Tor,
    wanted: 'Established' | 'down',
    milliseconds = 60_000,
    since = 0,
  ): Promise<readonly RecordedSession[]> {
    return this.lab.until(
      `both sessions of ${node} with ${tor} are ${wanted}`,
      async (note) => {
        const sessions = note(await this.sessions(node, tor));
        const fits = sessions.every(
          (session) => (session.state === 'Established') === (wanted === 'Established') && Date.parse(session.since) >= since,
        );
        return sessions.length === 2 && fits ? sessions : undefined;
      },
      milliseconds,
    );
  }

  /**
   * Changes the settings of all sessions. This resets the sessions and their flap counts. Returns a function that restores the settings.
   */
  async withPeers(change: (text: string) => string): Promise<() => Promise<void>> {
    const before = await this.herald.read('20-herald.yaml');
    const edited = Date.now();
    await this.herald.edit('20-herald.yaml', change);
    for (const node of nodes) for (const tor of tors) await this.untilSessions(node, tor, 'Established', 60_000, edited);
    await this.untilAll();
    return async () => {
      const restored = Date.now();
      await this.herald.write('20-herald.yaml', before);
      for (const node of nodes) for (const tor of tors) await this.untilSessions(node, tor, 'Established', 60_000, restored);
      await this.untilAll();
    };
  }

  /** Starts TCP requests to both addresses of the Service, fifty a second each. */
  stream(): Stream {
    return new Stream(this.lab, this.addresses, this.timeouts.requestMs);
  }
}

const timers = (seconds: number): string => `holdTime: ${seconds}s, keepaliveTime: ${seconds / 3}s`;

export class Stream {
  readonly #probes: readonly Probe[];

  constructor(lab: Lab, addresses: readonly string[], timeoutMs: number) {
    this.#probes = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, timeoutMs }));
  }

  /**
   * Continues for a moment after the recovery, and stops. `late` counts failed requests that began after the recovery. There must be none.
   */
  async stop(
    recovered = Date.now(),
  ): Promise<{ readonly text: string; readonly sent: number; readonly failed: number; readonly late: number }> {
    await sleep(1_000);
    const outcomes = (await Promise.all(this.#probes.map((probe) => probe.stop()))).flatMap((report) => report.outcomes);
    const failed = outcomes.filter(({ ok }) => !ok).map(({ at }) => at);
    const span = failed.length === 0 ? 0 : Math.round(Math.max(...failed) - Math.min(...failed));
    return {
      text: `${failed.length} of ${outcomes.length} requests lost${failed.length > 1 ? ` within ${span} ms` : ''}`,
      sent: outcomes.length,
      failed: failed.length,
      late: failed.filter((at) => at > recovered).length,
    };
  }
}
