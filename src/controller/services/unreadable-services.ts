import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { remedyText, reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { Source } from '../../sources/source.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { CompleteProvider } from '../complete-provider.ts';
import type { RecordedAddresses } from '../provider-parts.ts';
import type { RecordedStatus, StatusWriter } from '../status-writer.ts';

interface UnreadableServicesComponents {
  readonly source: Source;
  readonly providers: readonly CompleteProvider[];
  readonly writer: StatusWriter;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the controller does when something could be read again. */
interface UnreadableServicesEffects {
  requeue(key: ServiceKey, when: 'first' | 'inTurn'): void;
  adopt(provider: CompleteProvider, service: Service, addresses: readonly Address[]): void;
  released(key: ServiceKey, addresses: readonly Address[], why: string): void;
}

/**
 * Services of which the manifest or the record cannot be read. What they have on record stays theirs; and as long as nobody knows what is on
 * record, no address is given at all.
 */
export class UnreadableServices {
  readonly #components: UnreadableServicesComponents;
  readonly #effects: UnreadableServicesEffects;
  /** On record, and the source cannot show them. */
  #reserved: RecordedAddresses = new Map();
  /** Services whose record could not be read, with its file. */
  #unreadable: ReadonlyMap<ServiceKey, string> = new Map();
  #stopped = false;

  constructor(components: UnreadableServicesComponents, effects: UnreadableServicesEffects) {
    this.#components = components;
    this.#effects = effects;
  }

  /** What was on record when the controller started. */
  adopt({ addresses, unreadable }: RecordedStatus): void {
    const { source, log } = this.#components;
    this.#reserved = withoutManifest(addresses, source);
    this.#suspendAllocation(unreadable);
    for (const [key, held] of this.#reserved) {
      log.warn({ service: key, addresses: held.map(formatAddress) }, 'the Service cannot be read: its addresses stay reserved');
    }
  }

  /** Whether the record of the Service is there and cannot be read: to write would destroy what people may still read in it. */
  hasBrokenRecord(key: ServiceKey): boolean {
    return this.#unreadable.has(key);
  }

  /** Whether a Service that the source does not show may be there all the same. */
  mayBeThere(key: ServiceKey): boolean {
    return (
      this.#reserved.has(key) || (this.#unreadable.has(key) && hiddenByErrors(this.#components.source, this.#unreadable.values())(key))
    );
  }

  /** The Service is gone, and its record with it. */
  forgetRecord(key: ServiceKey): void {
    if (this.#unreadable.has(key)) this.#suspendAllocation(new Map([...this.#unreadable].filter(([other]) => other !== key)));
  }

  /** Reservations end when the Service can be read again, or when nothing unreadable is left that it could be in. */
  recheck(): void {
    const { source, log } = this.#components;
    if (this.#unreadable.size > 0) {
      for (const key of this.#unreadable.keys()) if (!source.snapshot.services.has(key)) this.#effects.requeue(key, 'inTurn');
      this.#rereadRecords().catch((error: unknown) => log.error({ error }, 'the records cannot be read'));
    }
    if (this.#reserved.size === 0) return;
    const isHidden = hiddenByErrors(source, this.#unreadable.values());
    for (const key of this.#reserved.keys()) {
      const readable = source.snapshot.services.has(key);
      if (!readable && isHidden(key)) continue;
      this.#reserved = new Map([...this.#reserved].filter(([other]) => other !== key));
      if (!readable) this.#release(key);
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  #release(key: ServiceKey): void {
    const { source, providers, log, clock } = this.#components;
    for (const provider of providers) {
      provider
        .release(key, source.snapshot, clock.date().getTime())
        .then(({ addresses = [], requeue = [] }) => {
          this.#effects.released(key, addresses, 'the Service, which could not be read, is gone');
          return requeue.forEach((other) => this.#effects.requeue(other, 'first'));
        })
        .catch((error: unknown) => log.error({ error, service: key }, 'release failed'));
    }
    this.#effects.requeue(key, 'inTurn');
  }

  /** No address is given as long as a record cannot be read: it may be the one that the record is about. */
  #suspendAllocation(unreadable: ReadonlyMap<ServiceKey, string>): void {
    const { source, providers, log } = this.#components;
    if (unreadable.size === 0 && this.#unreadable.size === 0) return;
    this.#unreadable = unreadable;
    const [file] = unreadable.values();
    const why = file === undefined ? undefined : reason('RecordUnreadable', { file });
    for (const provider of providers) provider.suspendAllocation(why);
    if (why === undefined) log.info({}, 'all records can be read: addresses are given again');
    else log.error({ files: [...unreadable.values()], fix: remedyText(why) }, 'records cannot be read: no address is given');
    for (const key of source.snapshot.services.keys()) this.#effects.requeue(key, 'inTurn');
  }

  /** Looks again at the records that could not be read. */
  async #rereadRecords(): Promise<void> {
    const { source, providers, writer } = this.#components;
    const { snapshot } = source;
    const recorded = await writer.recorded();
    if (this.#stopped) return;
    const left = new Map([...this.#unreadable].filter(([key]) => recorded.unreadable.has(key)));
    if (left.size === this.#unreadable.size) return;
    for (const key of this.#unreadable.keys()) {
      const service = snapshot.services.get(key);
      const addresses = recorded.addresses.get(key);
      if (service === undefined || addresses === undefined || left.has(key)) continue;
      const provider = providers.find((provider) => provider.claim(service, snapshot).mine);
      if (provider !== undefined) this.#effects.adopt(provider, service, addresses);
    }
    this.#suspendAllocation(left);
  }
}

/** Recorded Services that the source cannot show, while something is broken that could be them. */
function withoutManifest(recorded: RecordedAddresses, source: Source): RecordedAddresses {
  const isHidden = hiddenByErrors(source, []);
  return new Map([...recorded].filter(([key]) => !source.snapshot.services.has(key) && isHidden(key)));
}

/** Whether something is broken that could be the Service, the files given apart: an error of which it is known what other object it is in hides none. */
function hiddenByErrors(source: Source, apart: Iterable<string>): (key: ServiceKey) => boolean {
  const files = new Set<string | undefined>(apart);
  const errors = source.problems().filter(({ severity, file }) => severity === 'error' && !files.has(file));
  const known = new Set(errors.map(({ about }) => (about?.kind === 'Service' ? serviceKey(about) : undefined)));
  const unknown = errors.some(({ about }) => about === undefined);
  return (key) => unknown || known.has(key);
}
