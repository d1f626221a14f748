import { isRecord } from '../../lang/is-record.ts';
import { rawObject, type RawObject } from '../raw-object.ts';

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** The fields that a write sets. */
export interface LeaseTerm {
  /** "" when released. */
  readonly holder: string;
  readonly durationSeconds: number;
  /** How often the holder changed. */
  readonly transitions: number;
  /** MicroTime, as its writer formatted it. Undefined in a write: the term begins now. */
  readonly acquireTime: string | undefined;
}

/** A coordination.k8s.io/v1 Lease: the leader and how long it leads without a renewal. */
export interface Lease extends LeaseTerm {
  readonly version: string;
  /** The object as read, so that a write keeps other programs' fields. */
  readonly raw: RawObject;
}

/** Throws KubeError (malformed). Fields that cannot be parsed count as absent, as in client-go. */
export function readLease(answer: unknown): Lease {
  const raw = rawObject(answer);
  const spec = isRecord(raw['spec']) ? raw['spec'] : {};
  const { holderIdentity, leaseDurationSeconds, leaseTransitions, acquireTime } = spec;
  return {
    holder: typeof holderIdentity === 'string' ? holderIdentity : '',
    durationSeconds: typeof leaseDurationSeconds === 'number' ? leaseDurationSeconds : 0,
    transitions: typeof leaseTransitions === 'number' ? leaseTransitions : 0,
    acquireTime: typeof acquireTime === 'string' ? acquireTime : undefined,
    version: raw.metadata.resourceVersion,
    raw,
  };
}

/**
 * Builds the object to write. Over an existing Lease it has that one's version, so the API server answers 409 when it changed meanwhile.
 */
export function leaseManifest({ namespace, name }: LeaseName, term: LeaseTerm, over: Lease | undefined, now: Date): object {
  const before = over?.raw['spec'];
  return {
    ...(over?.raw ?? { metadata: { namespace, name } }),
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: {
      ...(isRecord(before) ? before : {}),
      holderIdentity: term.holder,
      leaseDurationSeconds: term.durationSeconds,
      leaseTransitions: term.transitions,
      acquireTime: term.acquireTime ?? microTime(now),
      renewTime: microTime(now),
    },
  };
}

/** metav1.MicroTime needs exactly six fractional digits; the API server refuses others. */
export function microTime(date: Date): string {
  return date.toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}
