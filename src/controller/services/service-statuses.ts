import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { defined } from '../../lang/defined.ts';
import type { ObjectReference } from '../../model/objects/object-event.ts';
import { poolRecordIn, withoutPoolRecord } from '../../model/objects/pool-record.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { stableText, reasonText } from '../../model/reasons.ts';
import { sameContent } from '../../model/store/same-content.ts';
import type { Ingress, Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import type { UnmetRequest } from './service-conditions.ts';
import type { Reconciliation } from '../provider.ts';
import type { ControllerObserver } from '../controller-observer.ts';
import { findProvider, type ProviderTables } from '../../model/provider-tables.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { EventName } from '../events/event-table.ts';
import { DelayedRequeue } from '../queue/delayed-requeue.ts';
import type { Condition, RecordedStatus, StatusWriter } from '../status-writer.ts';
import { holdCondition, holdText, conditionHoldOf, type ConditionHold } from './condition-hold.ts';
import type { Surroundings } from '../../system/random.ts';

/** The last status of a Service and what was reported of it. */
interface KnownStatus {
  /** As recorded, as text. */
  readonly addresses: readonly string[];
  readonly holds: ReadonlyMap<string, ConditionHold>;
  /** The last reported condition that refuses the Service. */
  readonly unmet?: Condition;
  /** The Service as it was at the last decision. Absent: only its record is known. */
  readonly service?: Service;
}

interface ServiceStatusesComponents extends Surroundings {
  readonly writer: StatusWriter;
  readonly events: EventSink;
  readonly observer: ControllerObserver;
}

/** Writes the status of Services and reports each change in Events and in the log, once, also over a restart. */
export class ServiceStatuses {
  readonly #components: ServiceStatusesComponents;
  readonly #known = new Map<ServiceKey, KnownStatus>();
  readonly #requeues: DelayedRequeue<ServiceKey>;
  /** The warnings that were reported of each Service that has any, as sentences. */
  readonly #warnings = new Map<ServiceKey, ReadonlySet<string>>();
  /** The last news that were reported of a Service. A provider may repeat them. */
  readonly #notices = new Map<ServiceKey, readonly string[]>();

  /** `requeue` is called for Services whose held condition may be due although nothing changed. */
  constructor(components: ServiceStatusesComponents, requeue: (key: ServiceKey) => void) {
    this.#components = components;
    this.#requeues = new DelayedRequeue(components.clock, requeue);
  }

  /** Takes over what another controller or an earlier process recorded, without reporting it again. */
  adopt({ addresses, conditions }: RecordedStatus, { services }: Pick<Snapshot, 'services'>): void {
    for (const [key, held] of addresses) {
      const names = (services.get(key)?.ingress ?? []).flatMap(({ hostname }) => hostname ?? []);
      const holds = (conditions?.get(key) ?? []).map((condition) => [condition.type, conditionHoldOf(condition)] as const);
      const unmet = holds.map(([, { recorded }]) => recorded).find(isUnmet);
      const known = { addresses: [...held.map(formatAddress), ...names], holds: new Map(holds) };
      this.#known.set(key, unmet === undefined ? known : { ...known, unmet });
    }
  }

  /**
   * Returns the Service with the pools that its last status records. The snapshot may show an older status, and a pool that is gone by then
   * can be found nowhere else.
   */
  withRecordedPools(service: Service): Service {
    const message = this.#known.get(serviceKey(service.metadata))?.holds.get(conditionTypes.addressAssigned)?.recorded.message ?? '';
    const pools = poolRecordIn(message);
    return pools.length === 0 ? service : { ...service, recordedPools: pools };
  }

  /** Writes the status. `assigned`: the Service with the addresses that it holds. `conditions`: their actual values now. */
  async write(key: ServiceKey, assigned: Service, unmet: UnmetRequest, conditions: readonly Condition[]): Promise<void> {
    const now = this.#components.clock.now();
    const before = this.#known.get(key);
    const reference = serviceReference(assigned);
    const isChanged = before?.service !== undefined && !sameButForAddresses(before.service, assigned);
    const settled = conditions.map((wanted) =>
      wanted.type === conditionTypes.addressAssigned
        ? holdText(before?.holds.get(wanted.type), wanted, now, isChanged)
        : holdCondition(before?.holds.get(wanted.type), wanted, now, isChanged),
    );
    const status = { ingress: assigned.ingress, conditions: settled.map(({ hold }) => hold.recorded) };
    await this.#components.writer.writeService(key, status, assigned.metadata);
    this.#components.observer.conditionsWritten(key, status.conditions, unmet.reason === undefined ? [] : unmet.details);
    const refusal = status.conditions.find(isUnmet);
    const known = {
      addresses: ingressTexts(assigned.ingress),
      holds: new Map(settled.map(({ hold }) => [hold.recorded.type, hold])),
      ...defined({ unmet: refusal }),
      service: assigned,
    };
    this.#known.set(key, known);
    this.#recordAddresses(reference, before, known, unmet);
    for (const { hold, isReportDue, requeueAt } of settled) {
      if (isReportDue) this.#recordCondition(reference, hold.recorded);
      if (requeueAt !== undefined) this.#requeues.requeueAt(key, requeueAt);
    }
  }

  /** Reports warnings and news about the Service, each once, and what the provider repaired. */
  recordRemarks(service: Service, { warnings = [], notices = [], repaired = [] }: Omit<Reconciliation, 'ingress'>, provider = ''): void {
    const { log, events } = this.#components;
    const key = serviceKey(service.metadata);
    const reference = serviceReference(service);
    const before = this.#warnings.get(key);
    for (const warning of warnings.filter((one) => before?.has(reasonText(one)) !== true)) {
      log.warn({ service: key, code: warning.code, reason: reasonText(warning) }, 'the Service has a questionable setting');
      events.record(objectEvent('remark', reference, reasonLine(warning), warning.code));
    }
    for (const notice of notices.filter((one) => this.#notices.get(key)?.includes(one) !== true)) {
      log.info({ service: key, notice }, 'news about the Service');
      events.record({ ...objectEvent('notice', reference, notice), ...eventOf(findProvider(provider)) });
    }
    if (notices.length > 0) this.#notices.set(key, notices);
    if (warnings.length > 0) this.#warnings.set(key, new Set(warnings.map(reasonText)));
    else this.#warnings.delete(key);
    if (repaired.length === 0) return;
    log.warn({ service: key, repaired }, 'load balancer repaired');
    events.record(objectEvent('repaired', reference, repaired.join('; ')));
  }

  /** Logs addresses that the Service no longer holds. */
  logReleased(key: ServiceKey, addresses: readonly string[], why: string): void {
    if (addresses.length === 0) return;
    this.#components.log.info({ service: key, addresses, why }, 'address released');
  }

  /** Forgets a Service that is gone or no longer Herald's and whose record is gone, and records an Event for its addresses. */
  forget(key: ServiceKey, why: string): void {
    const known = this.#known.get(key);
    this.disown(key);
    if (known?.service === undefined || known.addresses.length === 0) return;
    this.#components.events.record(
      objectEvent('addressReleased', serviceReference(known.service), `${known.addresses.join(', ')}: ${why}`),
    );
  }

  /** Forgets a Service that another controller now owns, with its addresses. */
  disown(key: ServiceKey): void {
    this.#components.observer.serviceRemoved(key);
    this.#warnings.delete(key);
    this.#notices.delete(key);
    this.#known.delete(key);
  }

  stop(): void {
    this.#requeues.stop();
  }

  #recordAddresses(
    reference: ObjectReference,
    known: KnownStatus | undefined,
    { addresses, unmet }: KnownStatus,
    { reason, moved }: UnmetRequest,
  ): void {
    const { log, events } = this.#components;
    const service = serviceKey(reference);
    const before = known?.addresses ?? [];
    const same = before.join() === addresses.join();
    if (!same && moved !== undefined)
      events.record(objectEvent('addressHeldTwice', reference, `${reasonText(moved)}; it has ${listed(addresses)} now`));
    else if (!same) events.record(changeOfAddresses(reference, before, addresses));
    if (reason === undefined) {
      if (!same || known?.unmet !== undefined) log.info({ service, addresses }, 'address assigned');
      return;
    }
    const isTold = known?.unmet?.reason === reason.code && (stableText(reason) === undefined || known.unmet.message === unmet?.message);
    if (same && isTold) return;
    log.warn({ service, addresses, code: reason.code, reason: reasonText(reason) }, 'address not assigned');
    if (isTold) return;
    const note = unmet === undefined ? reasonLine(reason) : withoutPoolRecord(unmet.message);
    events.record(objectEvent('addressNotAssigned', reference, note, reason.code));
  }

  #recordCondition(reference: ObjectReference, { type, status, reason, message }: Condition): void {
    const { log, events } = this.#components;
    const [yes, no] = conditionEvents[type] ?? [];
    const isTrue = status === 'True';
    if (no === undefined || (isTrue && yes === undefined)) return;
    const fields = { service: serviceKey(reference), condition: type, status, reason };
    const trouble = announcedWithTrouble[reason];
    if (trouble !== undefined) {
      events.record(objectEvent(trouble, reference, message, reason));
      log.warn(fields, 'condition changed');
      return;
    }
    events.record(isTrue && yes !== undefined ? objectEvent(yes, reference, message) : objectEvent(no, reference, message, reason));
    if (isTrue) log.info(fields, 'condition changed');
    else log.warn(fields, 'condition changed');
  }
}

function isUnmet({ type, status }: Condition): boolean {
  return type === conditionTypes.addressAssigned && status === 'False';
}

/** Services have no generation, so their content is compared. */
function sameButForAddresses(a: Service, b: Service): boolean {
  return sameContent({ ...a, ingress: [], recordedPools: [] }, { ...b, ingress: [], recordedPools: [] });
}

/** The condition Answered has no good news: it exists only while connections fail. */
const conditionEvents: Readonly<Record<string, readonly [yes: EventName | undefined, no: EventName]>> = {
  [conditionTypes.answered]: [undefined, 'notAnswered'],
  [conditionTypes.programmed]: ['programmed', 'notProgrammed'],
  [conditionTypes.announced]: ['announced', 'notAnnounced'],
};

/** Reasons of the condition Announced that are bad news although it is True. */
const announcedWithTrouble: Readonly<Record<string, EventName>> = {
  HeldBackLastNextHop: 'announcedInVain',
  L2KernelAnswers: 'announcedTwice',
};

function changeOfAddresses(reference: ObjectReference, before: readonly string[], after: readonly string[]) {
  if (before.length === 0) return objectEvent('addressAssigned', reference, `The Service has ${after.join(', ')}`);
  if (after.length === 0) return objectEvent('addressReleased', reference, `${before.join(', ')}: the Service asks for something else`);
  return objectEvent('addressChanged', reference, `The Service has ${after.join(', ')} and had ${before.join(', ')}`);
}

function listed(addresses: readonly string[]): string {
  return addresses.length === 0 ? 'none' : addresses.join(', ');
}

function ingressTexts(ingress: readonly Ingress[]): string[] {
  return ingress.flatMap(({ address, hostname }) => (address === undefined ? (hostname ?? []) : formatAddress(address)));
}

/** Returns how the Event of a provider's notice differs from the usual one. */
function eventOf(provider: ProviderTables | undefined): { readonly reason?: string; readonly action?: string } {
  return provider?.notice === undefined ? {} : { reason: provider.notice.reason, action: provider.notice.action };
}
