import { defined } from '../../lang/defined.ts';
import type { RefusedStatuses as LiveRefusals } from '../../live/contract.ts';
import { limits } from '../../live/limits.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import type { Source } from '../../sources/source.ts';
import type { Log } from '../../system/log.ts';
import type { EventSink } from '../events/event-sink.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';
import type { StatusWriter } from '../status-writer.ts';

interface RefusedStatusesComponents {
  readonly source: Pick<Source, 'snapshot'>;
  readonly events: EventSink;
  readonly log: Log;
}

/**
 * Knows the Services whose status the API server does not let this controller write (403). Logs the first one and the end, and records an Event
 * about each Service once. The controller retries each of them.
 */
export class RefusedStatuses {
  readonly #components: RefusedStatusesComponents;
  /** The answer of the API server. */
  readonly #refused = new Map<ServiceKey, string>();

  constructor(components: RefusedStatusesComponents) {
    this.#components = components;
  }

  get size(): number {
    return this.#refused.size;
  }

  /** Undefined: none is refused. */
  present(): LiveRefusals | undefined {
    const [first] = this.#refused;
    if (first === undefined) return undefined;
    return { services: this.#refused.size, names: [...this.#refused.keys()].slice(0, limits.refusedNames), problem: first[1] };
  }

  /** For /readyz. Undefined: none is refused. */
  problem(): string | undefined {
    const present = this.present();
    return present && textOf(refusalReason('this controller', present));
  }

  /** Returns a writer that does the same, and reports refusals here. */
  watched(writer: StatusWriter): StatusWriter {
    const watch = async (key: ServiceKey, write: () => Promise<void>): Promise<void> => {
      try {
        await write();
      } catch (error) {
        if (isRefusal(error)) this.#record(key, error.message);
        throw error;
      }
      this.#forget(key);
    };
    const overwritten = writer.overwritten?.bind(writer);
    const disownService = writer.disownService?.bind(writer);
    const removeNodeState = writer.removeNodeState?.bind(writer);
    return {
      recorded: () => writer.recorded(),
      writeService: (key, ...write) => watch(key, () => writer.writeService(key, ...write)),
      ...defined({ overwritten, removeNodeState }),
      ...(disownService === undefined ? {} : { disownService: (key, from) => watch(key, () => disownService(key, from)) }),
      releaseService: (key, from) => watch(key, () => writer.releaseService(key, from)),
      writeObject: (...write) => writer.writeObject(...write),
      removeObject: (...remove) => writer.removeObject(...remove),
    };
  }

  #record(key: ServiceKey, problem: string): void {
    const { source, events, log } = this.#components;
    const isNew = !this.#refused.has(key);
    this.#refused.set(key, problem);
    if (!isNew) return;
    const because = refusalReason('the controller', { services: 1, names: [key], problem });
    if (this.#refused.size === 1)
      log.error({ service: key, code: because.code, problem, fix: remedyText(because) }, 'the API server refuses the status of a Service');
    const service = source.snapshot.services.get(key);
    if (service !== undefined) events.record(objectEvent('statusRefused', serviceReference(service), textOf(because)));
  }

  #forget(key: ServiceKey): void {
    if (this.#refused.delete(key) && this.#refused.size === 0)
      this.#components.log.info({}, 'the status of every Service is written again');
  }
}

/** `process`: for people. */
function refusalReason(process: string, { services, names: [service = ''], problem }: LiveRefusals): Reason {
  return reason('StatusWriteRefused', { process, services, service, problem });
}

const textOf = (because: Reason): string => `${reasonText(because)}. Fix: ${remedyText(because)}`;

/** A namespace that ends refuses writes too (KubeError), and its Services go with it. */
function isRefusal(error: unknown): error is Error {
  const { code, namespaceEnds } = (error ?? {}) as { readonly code?: unknown; readonly namespaceEnds?: unknown };
  return error instanceof Error && code === 'forbidden' && namespaceEnds !== true;
}
