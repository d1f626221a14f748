import type { ApplyResult, Dataplane, QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import { nodeForwarding } from '../../decisions/forwarding/node.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceForwarding } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { RetryTimer } from './retry-timer.ts';

interface DataplaneSyncComponents {
  readonly dataplane: Dataplane;
  readonly clock: Clock;
  readonly random: Random;
}

/** Sends forwarding: everything at first, then changes; none where another program forwards. Retries refused frontends. */
export class DataplaneSync {
  readonly #components: DataplaneSyncComponents;
  readonly #node: string;
  readonly #retry: RetryTimer;
  #quarantined: ReadonlyMap<string, QuarantinedFrontend> = new Map();
  /** True once the data plane has the forwarding of all Services and takes changes. */
  #programs = false;

  /** `requeue` is called with the Services of refused frontends: the cause may have passed without any change of an object. */
  constructor(components: DataplaneSyncComponents, node: string, requeue: (services: Iterable<ServiceKey>) => void) {
    this.#components = components;
    this.#node = node;
    this.#retry = new RetryTimer(components, () => requeue(new Set(this.#refused())));
  }

  /** The frontends whose latest form the kernel does not have, by the data plane's latest answer. */
  get quarantined(): ReadonlyMap<string, QuarantinedFrontend> {
    return this.#quarantined;
  }

  /** Returns the Services that wait for a frontend that one of `services` has. */
  waitingFor(services: ReadonlySet<string>): ServiceKey[] {
    const waiting = [...this.#quarantined.values()].filter(({ owner }) => owner !== undefined && services.has(owner));
    return waiting.flatMap(({ services }) => services as readonly ServiceKey[]);
  }

  /**
   * Commits changes of forwarding. `drains`: rules of draining frontends must stay although the scope is `none`. Returns the Services for
   * which the kernel refuses something, or no longer refuses it.
   */
  async commit(
    snapshot: Snapshot,
    changes: ReadonlyMap<string, ServiceForwarding | undefined>,
    { node, drains }: { readonly node: boolean; readonly drains: boolean },
  ): Promise<ReadonlySet<ServiceKey>> {
    const { dataplane } = this.#components;
    let result: ApplyResult;
    if (snapshot.config.services === 'none' && !drains) {
      this.#programs = false;
      await dataplane.clear();
      result = { quarantined: new Map() };
    } else if (!this.#programs) {
      const all = new Map([...changes].flatMap(([key, forwarding]) => (forwarding === undefined ? [] : [[key, forwarding] as const])));
      result = await dataplane.replace(nodeForwarding(snapshot, this.#node), all);
      this.#programs = true;
    } else {
      if (node) await dataplane.setNode(nodeForwarding(snapshot, this.#node));
      result = await dataplane.apply(changes);
    }
    return this.#update(result.quarantined);
  }

  stop(): void {
    this.#retry.stop();
  }

  /** Takes the data plane's latest answer. Returns the Services that depend on a frontend that entered or left quarantine. */
  #update(frontends: ReadonlyMap<string, QuarantinedFrontend>): Set<ServiceKey> {
    const before = this.#quarantined;
    this.#quarantined = frontends;
    const services = new Set<ServiceKey>();
    for (const frontend of new Set([...before.keys(), ...frontends.keys()])) {
      const [then, now] = [concerned(before.get(frontend)), concerned(frontends.get(frontend))];
      if (then.join() === now.join()) continue;
      for (const service of [...then, ...now]) services.add(service);
    }
    if (this.#refused().length === 0) this.#retry.succeeded();
    else if (!this.#retry.waiting) this.#retry.failed();
    return services;
  }

  #refused(): ServiceKey[] {
    return [...this.#quarantined.values()].flatMap(({ owner, services }) =>
      owner === undefined ? (services as readonly ServiceKey[]) : [],
    );
  }
}

/** Returns the Services whose announcements depend on a frontend in quarantine: its owner, and the Services that wait for it. */
function concerned(entry: QuarantinedFrontend | undefined): readonly ServiceKey[] {
  return [entry?.owner ?? [], entry?.services ?? []].flat() as readonly ServiceKey[];
}
