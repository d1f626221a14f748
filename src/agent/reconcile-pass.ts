import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { ServiceForwarding } from '../net/frontend.ts';
import { TimeSlice } from '../system/time-slice.ts';
import { noPassObserver, type PassObserver } from './agent-observer.ts';
import type { AgentComponents, AgentParts } from './agent-parts.ts';
import type { PassWork } from './reconcile/reconcile-loop.ts';

/** Runs one pass: it withdraws routes, has the kernel commit the rules, then announces routes (the commit barrier). */
export class ReconcilePass {
  readonly #components: Pick<AgentComponents, 'clock' | 'observer'>;
  readonly #parts: AgentParts;

  constructor(components: Pick<AgentComponents, 'clock' | 'observer'>, parts: AgentParts) {
    this.#components = components;
    this.#parts = parts;
  }

  /** Runs the whole pass. The observer and the history see its begin and its end. */
  async reconcile(work: PassWork): Promise<void> {
    const { history, routes } = this.#parts;
    const { snapshot, services } = work;
    const observer = this.#components.observer?.pass(services, (service) => routes.routesOf(service)) ?? noPassObserver;
    history?.passStarted();
    let done: Set<ServiceKey> | undefined;
    try {
      await this.#reconcile(work, observer);
      done = services;
    } finally {
      history?.passEnded(done, snapshot);
      observer.ended();
    }
  }

  /** Withdraws routes that are no longer planned. Needs no data plane. */
  withdraw(snapshot: Snapshot, services: readonly ServiceKey[], node: boolean): void {
    const { nodeDraining, sessions, received, plans, flushRoutes, identity, view } = this.#parts;
    if (node) {
      identity.reconcile(snapshot);
      nodeDraining.reconcile(snapshot);
      sessions.updateExisting(snapshot, this.#parts.node);
      received.updateExisting();
    }
    for (const key of services) plans.plan(snapshot, key, view());
    flushRoutes();
  }

  async #reconcile({ snapshot, services, node, isStopped, commitGuard }: PassWork, observer: PassObserver): Promise<void> {
    const { sessions, received, plans, dataplaneSync, announcer, flushRoutes, history, nodeDraining, health, directReturn, links, checks } =
      this.#parts;
    if (node) {
      this.#updateNode(snapshot);
      const firstReading = links.reconcile();
      if (firstReading !== undefined) await firstReading;
    }
    const forwarding = await this.#plan(snapshot, services);
    if (isStopped()) return;
    this.#cancelDrains(snapshot, services, forwarding);
    // Plans only withdraw routes, so this announces nothing that was not announced before.
    flushRoutes();
    observer.withdrawn();
    const isIntact = commitGuard();
    const refused = await dataplaneSync.commit(snapshot, forwarding, { node, drains: plans.hasDrainingFrontends });
    await history?.forwardingCommitted(refused, dataplaneSync.quarantined);
    // A refusal, or the end of one, changes the routes that these Services may announce.
    announcer.queue(refused);
    // The data plane lost the commit meanwhile: everything is pending again.
    if (!isIntact()) return;
    observer.committed();
    nodeDraining.onPassCommitted();
    if (node) health.onNodeChanged();
    health.onCommitted(services);
    directReturn.reconcile(services);
    checks.reconcile();
    await announcer.announce(isIntact);
    if (isIntact()) observer.announced();
    // Sessions open after the routes are known, so that a new session sends all of them first.
    if (node && !isStopped()) {
      sessions.reconcile(snapshot, this.#parts.node);
      received.reconcile();
    }
  }

  #updateNode(snapshot: Snapshot): void {
    const { nodeDraining, sessions, received, health, hostCheck, identity } = this.#parts;
    identity.reconcile(snapshot);
    nodeDraining.reconcile(snapshot);
    sessions.updateExisting(snapshot, this.#parts.node);
    received.updateExisting();
    health.applyScope(snapshot.config.services);
    hostCheck.applyScope(snapshot.config.services);
  }

  /** Plans the Services. Lets other work run in between; changes that come meanwhile are for the next pass. */
  async #plan(snapshot: Snapshot, services: Set<ServiceKey>): Promise<Map<string, ServiceForwarding | undefined>> {
    const { plans, announcer, view } = this.#parts;
    const forwarding = new Map<string, ServiceForwarding | undefined>();
    const slice = new TimeSlice(this.#components.clock);
    for (const key of services) {
      forwarding.set(key, plans.plan(snapshot, key, view()));
      announcer.queue([key]);
      if (slice.isUsedUp) await slice.yield();
    }
    return forwarding;
  }

  /** Ends the draining of frontends that a planned Service now has, and plans the Services that drained them again. */
  #cancelDrains(snapshot: Snapshot, services: Set<ServiceKey>, forwarding: Map<string, ServiceForwarding | undefined>): void {
    const { plans, dataplaneSync, view } = this.#parts;
    for (const key of new Set([...services, ...dataplaneSync.waitingFor(services)])) {
      for (const other of plans.cancelDrainsOf(key)) {
        forwarding.set(other, plans.plan(snapshot, other, view()));
        services.add(other);
      }
    }
  }
}
