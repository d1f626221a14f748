import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { unclaimedAfter, whyUnclaimed } from '../../decisions/allocation/unclaimed.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import { remedyText } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Log } from '../../system/log.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';
import type { EventSink } from '../events/event-sink.ts';
import { limits } from '../limits.ts';

interface Waiting {
  readonly uid: string;
  /** By the monotonic clock. */
  readonly since: number;
}

/**
 * LoadBalancer Services without a class that neither Herald nor another controller serves. They are not Herald's, so nothing is written to
 * them: an Event and the log report each Service once in a term of the controller, a bounded number at a time.
 */
export class UnclaimedServices {
  readonly #log: Log;
  readonly #events: EventSink;
  readonly #waiting = new Map<ServiceKey, Waiting>();
  /** The uid of each reported Service. */
  readonly #reported = new Map<ServiceKey, string>();

  constructor({ log, events }: { readonly log: Log; readonly events: EventSink }) {
    this.#log = log;
    this.#events = events;
  }

  /** Called when no provider claims the Service. */
  observe(key: ServiceKey, service: Service, { config }: Snapshot, now: number): void {
    const { uid } = service.metadata;
    if (whyUnclaimed(service, config) === undefined) this.#waiting.delete(key);
    else if (this.#waiting.get(key)?.uid !== uid && this.#reported.get(key) !== uid) this.#waiting.set(key, { uid, since: now });
  }

  /** Called when the Service is gone or a provider claims it. */
  forget(key: ServiceKey): void {
    this.#waiting.delete(key);
    this.#reported.delete(key);
  }

  /** Reports the Services that have waited long enough, the oldest first, at most `unclaimedReports` of them. Called periodically. */
  reportDue(snapshot: Snapshot, now: number): void {
    if (this.#waiting.size === 0) return;
    const after = unclaimedAfter(snapshot);
    const due: Service[] = [];
    for (const [key, { uid, since }] of this.#waiting) {
      // The order is that of arrival, so all later ones are younger.
      if (now - since < after || due.length >= limits.unclaimedReports) break;
      this.#waiting.delete(key);
      const service = snapshot.services.get(key);
      if (service === undefined || service.metadata.uid !== uid || whyUnclaimed(service, snapshot.config) === undefined) continue;
      this.#reported.set(key, uid);
      due.push(service);
    }
    this.#report(due, snapshot);
  }

  #report(services: readonly Service[], { config }: Snapshot): void {
    const [first] = services;
    const reason = first === undefined ? undefined : whyUnclaimed(first, config);
    if (reason === undefined) return;
    const named = services.slice(0, limits.unclaimedNames).map(({ metadata }) => serviceKey(metadata));
    const fields = { services: named, count: services.length, code: reason.code, fix: remedyText(reason) };
    this.#log.warn(fields, 'no controller serves a Service without a class');
    for (const service of services)
      this.#events.record(objectEvent('notClaimed', serviceReference(service), reasonLine(reason), reason.code));
  }
}
