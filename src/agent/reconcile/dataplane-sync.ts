import type { ApplyResult, Dataplane, QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import { nodeForwarding } from '../../decisions/forwarding/node.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceForwarding } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { Quarantine } from './quarantine.ts';

interface DataplaneSyncComponents {
  readonly dataplane: Dataplane;
  readonly clock: Clock;
  readonly random: Random;
}

/** Sends forwarding to the data plane: everything at first, then changes. Clears it where another program forwards. */
export class DataplaneSync {
  readonly #components: DataplaneSyncComponents;
  readonly #node: string;
  readonly #quarantine: Quarantine;
  /** True once the data plane has the forwarding of all Services and takes changes. */
  #programs = false;

  /** `requeue` is called with Services whose frontends the kernel refused, when it is time to retry them. */
  constructor(components: DataplaneSyncComponents, node: string, requeue: (services: Iterable<ServiceKey>) => void) {
    this.#components = components;
    this.#node = node;
    this.#quarantine = new Quarantine(components, requeue);
  }

  get quarantined(): ReadonlyMap<string, QuarantinedFrontend> {
    return this.#quarantine.frontends;
  }

  /** Returns the Services that wait for a frontend that one of `services` has. */
  waitingFor(services: ReadonlySet<string>): ServiceKey[] {
    return this.#quarantine.waitingFor(services);
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
    return this.#quarantine.update(result.quarantined);
  }

  stop(): void {
    this.#quarantine.stop();
  }
}
