import { setTimeout as sleep } from 'node:timers/promises';
import { receiverAddress, receiverAsn, senderAddress, senderAsn } from './addresses.ts';
import { receiverNamespace, startBgpd, type BenchProcess } from '../../../test/bench/runner/bench-network.ts';
import { VtySession } from '../../../test/bench/runner/vty-session.ts';

const config = `
log file /dev/null
route-map NONE deny 10
router bgp ${receiverAsn}
 bgp router-id ${receiverAddress}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor ${senderAddress} remote-as ${senderAsn}
 neighbor ${senderAddress} passive
 address-family ipv4 unicast
  neighbor ${senderAddress} route-map NONE out
`;

export interface Observation {
  /** The time after the answer, in milliseconds of performance.now(). */
  readonly at: number;
  readonly established: boolean;
  readonly prefixes: number;
}

interface Summary {
  readonly ipv4Unicast?: { readonly peers?: Readonly<Record<string, { readonly state: string; readonly pfxRcd?: number }>> };
}

/** A bgpd of FRR that receives the routes of every sender. It is started anew for every run and queried over its own vty socket. */
export class Receiver {
  readonly #process: BenchProcess;
  readonly #vty: VtySession;

  private constructor(process: BenchProcess, vty: VtySession) {
    this.#process = process;
    this.#vty = vty;
  }

  static async start(): Promise<Receiver> {
    const { process, vty } = startBgpd(receiverNamespace, config);
    return new Receiver(process, await openVty(process, vty));
  }

  async stop(): Promise<void> {
    this.#vty.close();
    await this.#process.kill();
  }

  async observe(): Promise<Observation> {
    const summary = JSON.parse(await this.#vty.ask('show bgp summary json')) as Summary;
    const peer = summary.ipv4Unicast?.peers?.[senderAddress];
    return { at: performance.now(), established: peer?.state === 'Established', prefixes: peer?.pfxRcd ?? 0 };
  }

  /** Polls until the condition holds; returns the first observation for which it does. */
  async until(what: string, holds: (seen: Observation) => boolean, milliseconds: number): Promise<Observation> {
    const deadline = performance.now() + milliseconds;
    for (;;) {
      const seen = await this.observe();
      if (holds(seen)) return seen;
      if (seen.at > deadline) throw new Error(`not within ${milliseconds} ms: ${what}; there are ${seen.prefixes} prefixes`);
      await sleep(1);
    }
  }

  /**
   * Returns the time of the last observation that found the session down. The first that finds it up may come late, because the receiver is
   * processing routes by then. It would flatter a sender that announces at once.
   */
  async established(milliseconds: number): Promise<number> {
    let down = performance.now();
    await this.until(
      'the session is up',
      ({ established, at }) => {
        if (!established) down = at;
        return established;
      },
      milliseconds,
    );
    return down;
  }

  /** Returns the number of UPDATE messages received from the sender. */
  async updates(): Promise<number> {
    const neighbor = JSON.parse(await this.#vty.ask(`show bgp neighbors ${senderAddress} json`)) as Record<
      string,
      { messageStats?: { updatesRecv?: number } }
    >;
    return neighbor[senderAddress]?.messageStats?.updatesRecv ?? 0;
  }
}

/** Waits until a daemon has read its configuration. Half a million lines take a while. */
export async function openVty(process: BenchProcess, path: string): Promise<VtySession> {
  for (;;) {
    try {
      const vty = await VtySession.open(path);
      await vty.ask('show version');
      return vty;
    } catch {
      if (!process.running) throw new Error(`bgpd ended: ${process.log()}`);
      await sleep(20);
    }
  }
}
