import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { deniedExternalIP } from '../../decisions/forwarding/external-ips.ts';
import { defined } from '../../lang/defined.ts';
import type { Condition } from '../../model/objects/condition.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import { reasonText } from '../../model/reasons.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Log } from '../../system/log.ts';
import { objectEvent, serviceReference } from '../events/object-event.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { RecordedStatus } from '../status-writer.ts';

/** Returns the condition of a Service with an external IP that no ExternalIPPolicy allows. Undefined: all work, so there is none. */
export function externalIPsCondition(snapshot: Snapshot, service: Service): Condition | undefined {
  const denied = deniedExternalIP(snapshot, service);
  if (denied === undefined) return undefined;
  const { generation } = service.metadata;
  const type = conditionTypes.externalIPsAllowed;
  return { type, status: 'False', reason: denied.code, message: reasonLine(denied), ...defined({ observedGeneration: generation }) };
}

/** Reports external IPs that no policy allows, of Services of any type, each once. */
export class DeniedExternalIPs {
  readonly #log: Log;
  readonly #events: EventSink;
  /** Services with external IPs: a policy or a Namespace may concern them. */
  readonly #services = new Set<ServiceKey>();
  /** The message that was reported of each Service. */
  readonly #reported = new Map<ServiceKey, string>();

  constructor({ log, events }: { readonly log: Log; readonly events: EventSink }) {
    this.#log = log;
    this.#events = events;
  }

  /** Takes over what another controller or an earlier process reported. */
  adopt({ conditions }: RecordedStatus): void {
    for (const [key, recorded] of conditions ?? []) {
      const denied = recorded.find(({ type }) => type === conditionTypes.externalIPsAllowed);
      if (denied !== undefined) this.#reported.set(key, denied.message);
    }
  }

  /** Called at each reconcile of the Service. */
  observe(key: ServiceKey, service: Service, snapshot: Snapshot): void {
    if (service.externalIPs.length === 0) return this.forget(key);
    this.#services.add(key);
    const denied = deniedExternalIP(snapshot, service);
    if (denied === undefined) return void this.#reported.delete(key);
    const message = reasonLine(denied);
    if (this.#reported.get(key) === message) return;
    this.#reported.set(key, message);
    this.#log.warn({ service: key, code: denied.code, reason: reasonText(denied) }, 'external IP not allowed');
    this.#events.record(objectEvent('externalIPDenied', serviceReference(service), message, denied.code));
  }

  forget(key: ServiceKey): void {
    this.#services.delete(key);
    this.#reported.delete(key);
  }

  /** The Services that a change of policies or Namespaces may concern. */
  affected(changes: readonly Change[]): ServiceKey[] {
    const namespaces = new Set(changes.flatMap(({ kind, key }) => (kind === 'Namespace' ? [key] : [])));
    const all = changes.some(({ kind }) => allServices.has(kind));
    if (!all && namespaces.size === 0) return [];
    return [...this.#services].filter((key) => all || namespaces.has(key.slice(0, key.indexOf('/'))));
  }
}

const allServices: ReadonlySet<Change['kind']> = new Set<Change['kind']>(['ExternalIPPolicy', 'HeraldConfig', 'BGPAdvertisement']);
