import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Source } from '../../sources/source.ts';
import { problemText } from '../../sources/source.ts';
import { objectEvent } from './object-event.ts';
import type { EventSink } from './event-sink.ts';

/** Tells of what is wrong with Services themselves, each mistake once. What is wrong with configuration objects is in their conditions. */
export class SourceEvents {
  readonly #source: Source;
  readonly #events: EventSink;
  readonly #isOthers: (key: ServiceKey) => boolean;
  #recorded: ReadonlySet<string> = new Set();

  /** `isOthers`: whether the Service can be read and is not ours, whose mistakes are for others to tell. */
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
