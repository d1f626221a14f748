import { retryDelays } from '../../kube/reflector/retry-delays.ts';
import { BackOff } from '../../system/back-off.ts';
import { KubeError } from '../../kube/error.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sleep } from '../../system/clock.ts';
import type { RandomSurroundings } from '../../system/random.ts';

interface InitialConfigComponents extends RandomSurroundings {
  readonly snapshot: Pick<Snapshot, 'config'>;
  /** Creates the object unless one of its name exists, and changes none. Rejects with KubeError; `conflict`: it exists. */
  readonly make: (manifest: object, signal: AbortSignal) => Promise<void>;
  /** Names the evidence of other controllers that serve Services without a class. Rejects with KubeError. */
  readonly otherLoadBalancers: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** A valid manifest of HeraldConfig/default. */
interface InitialManifest {
  readonly spec?: { readonly defaultClass?: unknown; readonly compat?: unknown };
}

/**
 * Creates HeraldConfig/default after an installation. The installation creates the kind and cannot create the object with it, because API
 * servers serve a new kind only after a while. The leading controller creates the object once, when it starts and there is none. A user may
 * delete it; only the next leader creates it again. No other work waits for this, and a failure stops nothing.
 */
export class InitialConfig {
  readonly #components: InitialConfigComponents;
  readonly #manifest: InitialManifest;
  readonly #backOff: BackOff;
  readonly #stop = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #loggedFailure = '';

  constructor(components: InitialConfigComponents, manifest: InitialManifest) {
    this.#components = components;
    this.#manifest = manifest;
    this.#backOff = new BackOff(components.random, retryDelays);
  }

  /** Starts creating. The snapshot must be complete. Failures are logged and retried. */
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

  /** Returns undefined when the work is done, else milliseconds until the next attempt. */
  async #attempt(): Promise<number | undefined> {
    const { snapshot, make, log } = this.#components;
    // Defaults that no API server stored have no uid.
    if (snapshot.config.metadata.uid !== '') return undefined;
    try {
      const found = await this.#findOthers();
      const manifest = found === undefined ? this.#manifest : withDefaultClass(this.#manifest, found.length === 0);
      await make(manifest, this.#stop.signal);
      const told = found === undefined ? {} : { defaultClass: found.length === 0, otherLoadBalancers: found };
      log.info(told, 'HeraldConfig/default was created from --initial-config');
      return undefined;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      if (!(error instanceof KubeError)) throw error;
      // Another client was faster, or the object exists and cannot be read. Both leave it as it is.
      if (error.code === 'conflict') log.info({}, 'HeraldConfig/default exists and is kept');
      // After `notLeading` the new leader creates it.
      if (error.code === 'conflict' || error.code === 'notLeading') return undefined;
      this.#logFailure(error);
      return this.#backOff.failed(error.retryAfterMilliseconds);
    }
  }

  /** Undefined when the manifest settles which controller serves Services without a class. */
  async #findOthers(): Promise<readonly string[] | undefined> {
    const { defaultClass, compat } = this.#manifest.spec ?? {};
    // With metallb in compat, Herald serves them in MetalLB's place.
    const programs: readonly unknown[] = Array.isArray(compat) ? compat : [compat];
    if (defaultClass !== undefined || programs.includes('metallb')) return undefined;
    return this.#components.otherLoadBalancers(this.#stop.signal);
  }

  /** Logs each different failure once. */
  #logFailure({ code, message, fix }: KubeError): void {
    if (message === this.#loggedFailure) return;
    this.#loggedFailure = message;
    const { log } = this.#components;
    if (code === 'notFound') log.info({}, 'HeraldConfig is not served yet: the object is created once it is');
    else log.warn({ problem: message, fix }, 'HeraldConfig/default cannot be created from --initial-config yet');
  }
}

function withDefaultClass(manifest: InitialManifest, defaultClass: boolean): object {
  return { ...manifest, spec: { ...manifest.spec, defaultClass } };
}
