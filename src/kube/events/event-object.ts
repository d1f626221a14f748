import type { ObjectEvent } from '../../model/objects/object-event.ts';
import type { Random } from '../../system/random.ts';
import { microTime } from '../election/lease-object.ts';
import { limits } from '../limits.ts';

/** Who says it. */
export interface EventReporter {
  /** Qualified as a label is: "herald.dev/controller". */
  readonly controller: string;
  /** One of several: the name of the pod. */
  readonly instance: string;
}

/** How often it was said after the first time, and when last. */
export interface EventSeries {
  readonly count: number;
  readonly lastObserved: Date;
}

/** Events of cluster-scoped objects are kept in the namespace default, as Kubernetes keeps them. */
export function eventNamespace({ regarding: { namespace } }: ObjectEvent): string {
  return namespace === '' ? 'default' : namespace;
}

/**
 * A name that no other Event has: that of the object, and the time. The API server makes none up here: it refuses the generateName
 * that would do (a prefix that ends in a dot).
 */
export function eventName({ regarding: { name } }: ObjectEvent, at: Date, random: Random): string {
  const unique = `${at.getTime().toString(16)}${Math.floor(random() * 2 ** 20)
    .toString(16)
    .padStart(5, '0')}`;
  const room = limits.objectName - unique.length - 1;
  return `${name.slice(0, room).replace(/[-.]+$/, '')}.${unique}`;
}

/** events.k8s.io/v1 Event. */
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

/** The bound is one of octets; no character is cut in two. */
function shortened(note: string): string {
  const octets = Buffer.from(note, 'utf8');
  if (octets.length <= limits.eventNote) return note;
  return `${octets
    .subarray(0, limits.eventNote - 3)
    .toString('utf8')
    .replace(/�+$/, '')}...`;
}
