import { serviceDependsOn } from '../../decisions/decision-inputs.ts';
import { RecentChanges } from '../../live/recent-changes.ts';
import type { History } from '../../live/history.ts';
import { limits } from '../../live/limits.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { ObjectEvent } from '../../model/objects/object-event.ts';
import type { Source } from '../../sources/source.ts';
import type { Clock } from '../../system/clock.ts';
import type { EventSink } from './event-sink.ts';

interface EventHistoryComponents {
  readonly history: History;
  readonly source: Pick<Source, 'snapshot' | 'onChange'>;
  readonly clock: Clock;
  /** Receives the Events too. Absent for a directory. */
  readonly events?: EventSink | undefined;
}

/** Keeps the Events of Services as history, each with the objects that changed before. Must be created before the controller. */
export class EventHistory implements EventSink {
  readonly #components: EventHistoryComponents;
  readonly #causes: RecentChanges;
  readonly #end: () => void;

  constructor(components: EventHistoryComponents) {
    const { source, clock } = components;
    this.#components = components;
    this.#causes = new RecentChanges(clock, {
      ofService: (key, versions, snapshot) => {
        const service = snapshot.services.get(key);
        return service !== undefined && serviceDependsOn(snapshot, service, versions);
      },
      ofPeer: () => false,
    });
    this.#causes.startFrom(source.snapshot);
    this.#end = source.onChange((changes) => this.#causes.recordChanges(changes, source.snapshot));
  }

  record(event: ObjectEvent): void {
    const { events } = this.#components;
    events?.record(event);
    if (event.regarding.kind === 'Service') this.#recordHistory(serviceKey(event.regarding), event);
  }

  stop(): void {
    this.#end();
  }

  #recordHistory(service: ServiceKey, { reason, note }: ObjectEvent): void {
    const { history, source } = this.#components;
    const text = note.length <= limits.words ? note : `${note.slice(0, limits.words - 1)}…`;
    history.record('Service', service, { what: reason, text, causes: this.#causes.takeRecentCauses(service) });
    if (!source.snapshot.services.has(service)) {
      history.markDeleted('Service', service);
      this.#causes.forgetService(service);
    }
  }
}
