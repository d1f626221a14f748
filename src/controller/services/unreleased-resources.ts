import { defined } from '../../lang/defined.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { stableText, reasonText, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Log } from '../../system/log.ts';
import { notReleased } from './service-conditions.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { Condition } from '../status-writer.ts';

/**
 * Resources that Services had of an earlier provider and that it could not release, because they are protected or its API does not answer.
 * The Service itself may work, or no longer be Herald's, so a person would not look there: each reason is reported once, in the log and in
 * an Event.
 */
export class UnreleasedResources {
  readonly #log: Log;
  readonly #events: EventSink;
  readonly #reasons = new Map<ServiceKey, Reason>();

  constructor({ log, events }: { readonly log: Log; readonly events: EventSink }) {
    this.#log = log;
    this.#events = events;
  }

  /** Notes the result of a release. `because` undefined: nothing remains. `service` undefined: it is gone, so only the log reports it. */
  recordAttempt(key: ServiceKey, service: Service | undefined, because: Reason | undefined): void {
    const before = this.#reasons.get(key);
    if (because === undefined) {
      this.#reasons.delete(key);
      return;
    }
    this.#reasons.set(key, because);
    if (before?.code === because.code && stableText(before) === stableText(because)) return;
    const reason = reasonText(because);
    this.#log.warn({ service: key, code: because.code, reason }, 'resources of the Service are not released yet');
    if (service === undefined) return;
    this.#events.record(objectEvent('notReleased', serviceReference(service), notReleased(because).message, because.code));
  }

  /** The only condition of a Service that no provider serves. Undefined when nothing remains, as far as is known. */
  conditionOf(key: ServiceKey, { metadata: { generation } }: Service): Condition | undefined {
    const because = this.#reasons.get(key);
    if (because === undefined) return undefined;
    return { ...notReleased(because), ...defined({ observedGeneration: generation }) };
  }
}
