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

/** What the kernel is given: everything at first, changes from then on, nothing where another program forwards. */
export class DataplaneSync {
  readonly #components: DataplaneSyncComponents;
  readonly #node: string;
  readonly #quarantine: Quarantine;
  /** The data plane has what the Services want, and takes changes of it. */
  #programs = false;

  /** `again` is called with Services whose frontends were refused, when it is time to try them once more. */
  constructor(components: DataplaneSyncComponents, node: string, requeue: (services: Iterable<ServiceKey>) => void) {
    this.#components = components;
    this.#node = node;
    this.#quarantine = new Quarantine(components, requeue);
  }

  get quarantined(): ReadonlyMap<string, QuarantinedFrontend> {
    return this.#quarantine.frontends;
  }

  /** Services that wait for a frontend of one of these. */
  waitingFor(services: ReadonlySet<string>): ServiceKey[] {
    return this.#quarantine.waitingFor(services);
  }

  /** `drains`: rules are to stay for a while although the scope has none. Returns Services of which the kernel refuses something, or refuses it no longer. */
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
