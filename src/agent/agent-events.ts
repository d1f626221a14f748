import type { ServiceKey } from '../model/objects/metadata.ts';

/** Events between the agent's parts. The part that emits one does not know the parts that react, which may be built later. */
export class AgentEvents {
  /** The status or the problems of a part may have changed. */
  readonly statusChanged = new AgentEvent<[]>();
  /** The status of sessions may have changed. */
  readonly sessionsChanged = new AgentEvent<[]>();
  /** Services must be planned again. */
  readonly requeue = new AgentEvent<[services: Iterable<ServiceKey>]>();
  /** Every Service must be planned again, and the node's settings checked. */
  readonly requeueAll = new AgentEvent<[]>();
  /** Another program began or stopped to forward frontends of these Services. */
  readonly foreignForwardingChanged = new AgentEvent<[services: ReadonlySet<ServiceKey>]>();
}

class AgentEvent<Arguments extends unknown[]> {
  readonly #listeners: ((...details: Arguments) => void)[] = [];

  subscribe(listener: (...details: Arguments) => void): void {
    this.#listeners.push(listener);
  }

  readonly emit = (...details: Arguments): void => {
    for (const listener of this.#listeners) listener(...details);
  };
}
