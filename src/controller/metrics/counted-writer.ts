import { defined } from '../../lang/defined.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { StatusWriter } from '../status-writer.ts';
import { isExpected } from '../queue/work-queue.ts';

/** Counts status writes by kind and result. */
export function countedWriter(writer: StatusWriter, metrics: Metrics): StatusWriter {
  const counted = async <T>(kind: string, write: () => Promise<T>): Promise<T> => {
    let result = 'failed';
    try {
      const written = await write();
      result = 'done';
      return written;
    } catch (error) {
      if (isExpected(error)) result = 'conflict';
      throw error;
    } finally {
      metrics.add('herald_status_writes_total', { kind, result });
    }
  };
  const overwritten = writer.overwritten?.bind(writer);
  const disownService = writer.disownService?.bind(writer);
  const removeNodeState = writer.removeNodeState?.bind(writer);
  return {
    recorded: () => writer.recorded(),
    writeService: (...write) => counted('Service', () => writer.writeService(...write)),
    ...defined({ overwritten, removeNodeState }),
    ...(disownService === undefined ? {} : { disownService: (...disown) => counted('Service', () => disownService(...disown)) }),
    releaseService: (...remove) => counted('Service', () => writer.releaseService(...remove)),
    writeObject: (of, status) => counted(of.kind, () => writer.writeObject(of, status)),
    removeObject: (kind, name) => counted(kind, () => writer.removeObject(kind, name)),
  };
}

/** Counts Events, and those that were lost. */
export function countedEvents(events: EventSink & { readonly lost?: ReadonlyMap<string, number> }, metrics: Metrics): EventSink {
  for (const type of ['Normal', 'Warning']) metrics.add('herald_events_total', { type }, 0);
  metrics.addCollector('events', ['herald_events_lost_total'], (put) => {
    for (const [why, count] of events.lost ?? []) put('herald_events_lost_total', { why }, count);
  });
  return {
    record: (event) => {
      metrics.add('herald_events_total', { type: event.type });
      events.record(event);
    },
  };
}
