import { PendingWork } from '../../src/agent/reconcile/pending-work.ts';
import { DataplaneError, type ApplyResult, type Dataplane } from '../../src/dataplane/dataplane.ts';
import { nodeForwarding } from '../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import type { ServiceKey } from '../../src/model/objects/metadata.ts';
import { Store } from '../../src/model/store/store.ts';
import { frontendKey, type Frontend, type NodeForwarding, type ServiceForwarding } from '../../src/net/frontend.ts';
import { applyEvent, here, type Event } from './events.ts';

/** An agent's path from events to the kernel: changed Services are planned again and handed to a long-lived data plane. */
export class Subject {
  readonly #store = new Store();
  readonly #open: () => Dataplane;
  #work = new PendingWork(here);
  #dataplane: Dataplane;

  constructor(open: () => Dataplane) {
    this.#open = open;
    this.#dataplane = open();
  }

  applyEvent(event: Event): void {
    this.#work.addChanges(applyEvent(this.#store, event), this.#store);
  }

  /** Ends the process and starts another one, which finds the tables. */
  async restart(): Promise<void> {
    await this.#dataplane.close();
    this.#dataplane = this.#open();
    this.#work = new PendingWork(here);
  }

  /** Carries out the pending work. Undefined: the data plane failed, so all of it stays pending. */
  async commit(): Promise<ApplyResult | undefined> {
    if (!this.#work.hasSynced) this.#work.addAll(this.#store);
    const work = this.#work.take();
    try {
      const result = await this.#carryOut(work.services, work.node);
      this.#work.markDone(work);
      return result;
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#work.requeueFailed(work);
      return undefined;
    }
  }

  async #carryOut(services: readonly ServiceKey[], node: boolean): Promise<ApplyResult> {
    const changes = new Map(services.map((key) => [key, this.#forwardingOf(key)]));
    if (!this.#work.hasSynced) return await this.#dataplane.replace(this.node(), present(changes));
    if (node) await this.#dataplane.setNode(this.node());
    return await this.#dataplane.apply(changes);
  }

  node(): NodeForwarding {
    return nodeForwarding(this.#store, here);
  }

  /** Returns the desired forwarding, planned from nothing. */
  services(): Map<string, ServiceForwarding> {
    return present(new Map([...this.#store.services.keys()].map((key) => [key, this.#forwardingOf(key)])));
  }

  async close(): Promise<void> {
    await this.#dataplane.close();
  }

  #forwardingOf(key: ServiceKey): ServiceForwarding | undefined {
    const service = this.#store.services.get(key);
    return service === undefined ? undefined : decideForwarding(this.#store, service, here).forwarding;
  }
}

function present<K>(services: ReadonlyMap<K, ServiceForwarding | undefined>): Map<K, ServiceForwarding> {
  return new Map([...services].flatMap(([key, forwarding]) => (forwarding === undefined ? [] : [[key, forwarding] as const])));
}

/** Returns each frontend, by frontendKey, in the form of the Service with the smallest key. */
export function effective(services: ReadonlyMap<string, ServiceForwarding>): Map<string, Frontend> {
  const frontends = new Map<string, Frontend>();
  for (const [, forwarding] of [...services].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    for (const frontend of forwarding.frontends) {
      const key = frontendKey(frontend.match);
      if (!frontends.has(key)) frontends.set(key, frontend);
    }
  return frontends;
}
