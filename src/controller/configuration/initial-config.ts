import { retryDelays } from '../../kube/reflector/retry-delays.ts';
import { BackOff } from '../../system/back-off.ts';
import { KubeError } from '../../kube/error.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sleep, type Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';

interface InitialConfigComponents {
  readonly snapshot: Pick<Snapshot, 'config'>;
  /** Makes the object where there is none of its name, and changes none. Rejects with KubeError: `conflict` where there is one. */
  readonly make: (manifest: object, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * HeraldConfig/default of an installation that brings the kind along, and so cannot bring an object of it: API servers do not serve a kind at
 * once. Made once, by the controller that leads, if there is none when it begins to; whoever deletes it afterwards is left in peace until
 * another one begins to lead. Nothing waits for it, and no failure ends anything.
 */
export class InitialConfig {
  readonly #components: InitialConfigComponents;
  readonly #manifest: object;
  readonly #backOff: BackOff;
  readonly #stop = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #loggedFailure = '';

  constructor(components: InitialConfigComponents, manifest: object) {
    this.#components = components;
    this.#manifest = manifest;
    this.#backOff = new BackOff(components.random, retryDelays);
  }

  /** The snapshot must be complete. Failures are logged and tried again. */
  start(): void {
    this.#working = this.#work();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const pause = await this.#attempt();
      if (pause === undefined) return;
      await sleep(this.#components.clock, pause, signal).catch(() => undefined);
    }
  }

  /** Undefined: there is nothing left to do. Else milliseconds until the next attempt. */
  async #attempt(): Promise<number | undefined> {
    const { snapshot, make, log } = this.#components;
    // What no API server has made has no uid.
    if (snapshot.config.metadata.uid !== '') return undefined;
    try {
      await make(this.#manifest, this.#stop.signal);
      log.info({}, 'HeraldConfig/default was made from --initial-config');
      return undefined;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      if (!(error instanceof KubeError)) throw error;
      // Somebody else was first, or it cannot be read: either way it is somebody's.
      if (error.code === 'conflict') log.info({}, 'HeraldConfig/default is there, and stays as it is');
      // Whoever leads now makes it.
      if (error.code === 'conflict' || error.code === 'notLeading') return undefined;
      this.#logFailure(error);
      return this.#backOff.failed(error.retryAfterMilliseconds);
    }
  }

  /** Each failure once, however often it is repeated. */
  #logFailure({ code, message, fix }: KubeError): void {
    if (message === this.#loggedFailure) return;
    this.#loggedFailure = message;
    const { log } = this.#components;
    if (code === 'notFound') log.info({}, 'HeraldConfig is not served yet: its object is made when it is');
    else log.warn({ problem: message, fix }, 'HeraldConfig/default cannot be made from --initial-config yet');
  }
}
