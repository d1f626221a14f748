import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { remedyText, reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { Source } from '../../sources/source.ts';
import type { CompleteProvider } from '../complete-provider.ts';
import type { RecordedAddresses } from '../provider-parts.ts';
import type { RecordedStatus, StatusWriter } from '../status-writer.ts';
import type { Surroundings } from '../../system/random.ts';

interface UnreadableServicesComponents extends Surroundings {
  readonly source: Source;
  readonly providers: readonly CompleteProvider[];
  readonly writer: StatusWriter;
}

/** Callbacks of the controller for when something becomes readable again. */
interface UnreadableServicesEffects {
  requeue(key: ServiceKey, when: 'first' | 'inTurn'): void;
  adopt(provider: CompleteProvider, service: Service, addresses: readonly Address[]): void;
  released(key: ServiceKey, addresses: readonly Address[], why: string): void;
}

/** Services whose manifest or record cannot be read keep their addresses. While a record is unreadable, none is assigned. */
export class UnreadableServices {
  readonly #components: UnreadableServicesComponents;
  readonly #effects: UnreadableServicesEffects;
  /** Recorded addresses of Services that the source cannot show. */
  #reserved: RecordedAddresses = new Map();
  /** Services whose record could not be read, with the name of its file. */
  #unreadable: ReadonlyMap<ServiceKey, string> = new Map();
  #stopped = false;

  constructor(components: UnreadableServicesComponents, effects: UnreadableServicesEffects) {
    this.#components = components;
    this.#effects = effects;
  }

  /** Takes over the records at the start. */
  adopt({ addresses, unreadable }: RecordedStatus): void {
    const { source, log } = this.#components;
    this.#reserved = withoutManifest(addresses, source);
    this.#suspendAllocation(unreadable);
    for (const [key, held] of this.#reserved) {
      log.warn({ service: key, addresses: held.map(formatAddress) }, 'the Service cannot be read: its addresses stay reserved');
    }
  }

  /** Returns true when the record of the Service is unreadable. A write would destroy text that a person could still read. */
  hasBrokenRecord(key: ServiceKey): boolean {
    return this.#unreadable.has(key);
  }

  /** Returns true when a Service that the source does not show may exist. */
  mayBeThere(key: ServiceKey): boolean {
    return (
      this.#reserved.has(key) || (this.#unreadable.has(key) && hiddenByErrors(this.#components.source, this.#unreadable.values())(key))
    );
  }

  /** Forgets the record of a Service that is gone. */
  forgetRecord(key: ServiceKey): void {
    if (this.#unreadable.has(key)) this.#suspendAllocation(new Map([...this.#unreadable].filter(([other]) => other !== key)));
  }

  /** Ends reservations of Services that are readable again, or that no unreadable file can contain any more. */
  recheck(): void {
    const { source, log } = this.#components;
    if (this.#unreadable.size > 0) {
      for (const key of this.#unreadable.keys()) if (!source.snapshot.services.has(key)) this.#effects.requeue(key, 'inTurn');
      this.#rereadRecords().catch((error: unknown) => log.error({ error }, 'reading the records failed'));
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
          this.#effects.released(key, addresses, 'the unreadable Service is gone');
          return requeue.forEach((other) => this.#effects.requeue(other, 'first'));
        })
        .catch((error: unknown) => log.error({ error, service: key }, 'release failed'));
    }
    this.#effects.requeue(key, 'inTurn');
  }

  /** Suspends allocation while a record is unreadable, because it may be about any free address. */
  #suspendAllocation(unreadable: ReadonlyMap<ServiceKey, string>): void {
    const { source, providers, log } = this.#components;
    if (unreadable.size === 0 && this.#unreadable.size === 0) return;
    this.#unreadable = unreadable;
    const [file] = unreadable.values();
    const why = file === undefined ? undefined : reason('RecordUnreadable', { file });
    for (const provider of providers) provider.suspendAllocation(why);
    if (why === undefined) log.info({}, 'all records are readable: allocation resumes');
    else log.error({ files: [...unreadable.values()], fix: remedyText(why) }, 'unreadable records: allocation is suspended');
    for (const key of source.snapshot.services.keys()) this.#effects.requeue(key, 'inTurn');
  }

  /** Reads the unreadable records again. */
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

/** Returns the recorded Services that the source does not show while something unreadable may contain them. */
function withoutManifest(recorded: RecordedAddresses, source: Source): RecordedAddresses {
  const isHidden = hiddenByErrors(source, []);
  return new Map([...recorded].filter(([key]) => !source.snapshot.services.has(key) && isHidden(key)));
}

/** Returns a test if an unreadable object may be a Service: not one known to be another object, nor one of a file in `apart`. */
function hiddenByErrors(source: Source, apart: Iterable<string>): (key: ServiceKey) => boolean {
  const files = new Set<string | undefined>(apart);
  const errors = source.problems().filter(({ severity, file }) => severity === 'error' && !files.has(file));
  const known = new Set(errors.map(({ about }) => (about?.kind === 'Service' ? serviceKey(about) : undefined)));
  const unknown = errors.some(({ about }) => about === undefined);
  return (key) => unknown || known.has(key);
}
