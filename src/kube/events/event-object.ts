import type { ObjectEvent } from '../../model/objects/object-event.ts';
import type { Random } from '../../system/random.ts';
import { microTime } from '../election/lease-object.ts';
import { limits } from '../limits.ts';

/** The process that reports. */
export interface EventReporter {
  /** Qualified like a label: "herald.dev/controller". */
  readonly controller: string;
  /** The instance: the pod's name. */
  readonly instance: string;
}

/** How often the Event was repeated, and when last. */
export interface EventSeries {
  readonly count: number;
  readonly lastObserved: Date;
}

/** Events of cluster-scoped objects are stored in the namespace default, as Kubernetes does. */
export function eventNamespace({ regarding: { namespace } }: ObjectEvent): string {
  return namespace === '' ? 'default' : namespace;
}

/**
 * Returns a unique Event name from the object's name and the time. The API server cannot generate one: it refuses the necessary
 * generateName, a prefix that ends in a dot.
 */
export function eventName({ regarding: { name } }: ObjectEvent, at: Date, random: Random): string {
  const unique = `${at.getTime().toString(16)}${Math.floor(random() * 2 ** 20)
    .toString(16)
    .padStart(5, '0')}`;
  const room = limits.objectName - unique.length - 1;
  return `${name.slice(0, room).replace(/[-.]+$/, '')}.${unique}`;
}

/** Builds an events.k8s.io/v1 Event. */
export function eventManifest(
  name: string,
  event: ObjectEvent,
  { controller, instance }: EventReporter,
  at: Date,
  series?: EventSeries,
): object {
  const { regarding, type, reason, action, note } = event;
  const { namespace, uid, resourceVersion, ...object } = regarding;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: eventNamespace(event), name },
    eventTime: microTime(at),
    reportingController: controller,
    reportingInstance: instance.slice(0, limits.eventWord),
    action,
    reason,
    type,
    note: shortened(note),
    regarding: {
      ...object,
      ...(namespace === '' ? {} : { namespace }),
      ...(uid === '' ? {} : { uid }),
      ...(resourceVersion === '' ? {} : { resourceVersion }),
    },
    ...(series === undefined ? {} : { series: seriesManifest(series) }),
  };
}

export function seriesManifest({ count, lastObserved }: EventSeries): object {
  return { count, lastObservedTime: microTime(lastObserved) };
}

/** The bound is in octets; no character is cut in two. */
function shortened(note: string): string {
  const octets = Buffer.from(note, 'utf8');
  if (octets.length <= limits.eventNote) return note;
  return `${octets
    .subarray(0, limits.eventNote - 3)
    .toString('utf8')
    .replace(/�+$/, '')}...`;
}
