import { defined } from '../../lang/defined.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { remedyText, stableText, reasonText, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Log } from '../../system/log.ts';
import { notReleased } from './service-conditions.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { Condition } from '../status-writer.ts';

/**
 * What Services had of a provider that does not serve them any more, and that he cannot let go of: somebody has protected it, or does not answer. Nobody
 * would look for it where the Service works, or is of no concern to Herald by now: so each reason is told once, in the log and in an Event.
 */
export class UnreleasedResources {
  readonly #log: Log;
  readonly #events: EventSink;
  readonly #reasons = new Map<ServiceKey, Reason>();

  constructor({ log, events }: { readonly log: Log; readonly events: EventSink }) {
    this.#log = log;
    this.#events = events;
  }

  /** `because` undefined: there is nothing left. `service` undefined: it is gone, and the log alone can tell. */
  recordAttempt(key: ServiceKey, service: Service | undefined, because: Reason | undefined): void {
    const before = this.#reasons.get(key);
    if (because === undefined) {
      this.#reasons.delete(key);
      return;
    }
    this.#reasons.set(key, because);
    if (before?.code === because.code && stableText(before) === stableText(because)) return;
    const reason = reasonText(because);
    this.#log.warn({ service: key, code: because.code, reason }, 'what the Service had is not let go yet');
    if (service === undefined) return;
    const remedy = remedyText(because);
    const note = remedy === '' ? reason : `${reason}; ${remedy}`;
    this.#events.record(objectEvent('notReleased', serviceReference(service), note, because.code));
  }

  /** For a Service that nobody serves, whose other conditions are taken away. Undefined: nothing is left of it, as far as is known. */
  conditionOf(key: ServiceKey, { metadata: { generation } }: Service): Condition | undefined {
    const because = this.#reasons.get(key);
    if (because === undefined) return undefined;
    return { ...notReleased(because), ...defined({ observedGeneration: generation }) };
  }
}
