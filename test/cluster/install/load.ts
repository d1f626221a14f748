import type { Cluster } from '../cluster/cluster.ts';
import type { Outcome, Probe } from '../../lab/lab.ts';
import { RouteWatch, type RouteEvent } from '../../lab/route-watch.ts';

/** Milliseconds between two requests of one stream. */
const intervalMs = 50;

/** Milliseconds that an answer may take on a busy machine. */
const timeoutMs = 10_000;

/** Kept connections in each family. */
const connections = 6;

export interface LoadReport {
  /** Failed requests, the earliest first, with the name of their stream. */
  readonly lost: readonly Lost[];
  readonly answered: number;
  /** Changes of the ToR's kernel routes to the addresses. */
  readonly routes: readonly RouteEvent[];
}

export type Lost = Extract<Outcome, { ok: false }> & { readonly stream: string };

/**
 * Requests from the client to each address, all the time: new TCP connections, datagrams, and requests over kept connections. A datagram that gets no
 * answer within a second is sent again, as clients do; a lost one is one that never gets an answer.
 */
export class Load {
  readonly #probes: ReadonlyMap<string, Probe>;
  readonly #watch: RouteWatch;

  private constructor(probes: ReadonlyMap<string, Probe>, watch: RouteWatch) {
    this.#probes = probes;
    this.#watch = watch;
  }

  static async start({ lab, client }: Cluster, addresses: readonly string[], port = 80): Promise<Load> {
    const watch = await RouteWatch.start(lab, ['tor'], addresses);
    const target = (address: string): { readonly address: string; readonly port: number } => ({ address, port });
    const probes = addresses.flatMap((address): [string, Probe][] => [
      [`TCP ${address}`, client.probe({ ...target(address), protocol: 'tcp', intervalMs, timeoutMs })],
      [`UDP ${address}`, client.probe({ ...target(address), protocol: 'udp', intervalMs, timeoutMs, resendMs: 1000 })],
      [`kept ${address}`, client.steady({ ...target(address), connections, intervalMs: 200, timeoutMs })],
    ]);
    return new Load(new Map(probes), watch);
  }

  async stop(): Promise<LoadReport> {
    const reports = await Promise.all(
      [...this.#probes].map(async ([stream, probe]) => ({ stream, outcomes: (await probe.stop()).outcomes })),
    );
    await this.#watch.catchUp();
    const routes = this.#watch.events();
    await this.#watch.stop();
    const lost = reports.flatMap(({ stream, outcomes }) => outcomes.flatMap((one) => (one.ok ? [] : [{ ...one, stream }])));
    const answered = reports.reduce((sum, { outcomes }) => sum + outcomes.filter(({ ok }) => ok).length, 0);
    return { lost: lost.toSorted((a, b) => a.at - b.at), answered, routes };
  }
}

/** Counts failures by stream and error, for messages: "TCP 10.200.0.0: ECONNRESET" -> 3. */
export function summary(lost: readonly Lost[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { stream, error } of lost) counts[`${stream}: ${error}`] = (counts[`${stream}: ${error}`] ?? 0) + 1;
  return counts;
}

/** Describes failures for messages: "TCP 10.200.0.0: ECONNRESET after 3 ms, asked 120 ms after the change of a route". */
export function textsOf(lost: readonly Lost[], routes: readonly RouteEvent[]): readonly string[] {
  return lost.map(({ stream, error, at, milliseconds }) => {
    const change = routes.findLast((one) => one.at <= at);
    const asked = change === undefined ? 'before any change of a route' : `${Math.round(at - change.at)} ms after the change of a route`;
    return `${stream}: ${error} after ${Math.round(milliseconds)} ms, asked ${asked}`;
  });
}
