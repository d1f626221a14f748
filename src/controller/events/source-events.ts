import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { problemText, type Source } from '../../sources/source.ts';
import { objectEvent } from './object-event.ts';
import type { EventSink } from './event-sink.ts';

/** Records an Event for each mistake in a Service, once. Mistakes in configuration objects are in their conditions. */
export class SourceEvents {
  readonly #source: Source;
  readonly #events: EventSink;
  readonly #isOthers: (key: ServiceKey) => boolean;
  #recorded: ReadonlySet<string> = new Set();

  /** `isOthers`: the Service is readable and not Herald's, so its mistakes are not Herald's to report. */
  constructor(source: Source, events: EventSink, isOthers: (key: ServiceKey) => boolean) {
    this.#source = source;
    this.#events = events;
    this.#isOthers = isOthers;
  }

  recordProblems(): void {
    const told = new Set<string>();
    for (const problem of this.#source.problems()) {
      const { about, field = '', message, fix } = problem;
      if (about?.kind !== 'Service' || this.#isOthers(serviceKey(about))) continue;
      const text = `${about.uid} ${problemText(problem)}`;
      told.add(text);
      if (this.#recorded.has(text)) continue;
      const what = field === '' ? message : `${field} ${message}`;
      this.#events.record(objectEvent('invalidService', about, fix === '' ? what : `${what} (${fix})`));
    }
    this.#recorded = told;
  }
}
