import { isRecord } from '../../lang/is-record.ts';
import { rawObject, type RawObject } from '../raw-object.ts';

/** coordination.k8s.io/v1 Lease: who leads, and for how long he does unless he says so again. */
export interface Lease {
  /** "" where nobody does: it was released. */
  readonly holder: string;
  readonly durationSeconds: number;
  /** How often the holder was another one than before. */
  readonly transitions: number;
  /** MicroTime, as its writer had it. */
  readonly acquireTime: string | undefined;
  readonly version: string;
  /** As it was read: what others keep in it goes back with it. */
  readonly raw: RawObject;
}

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** What a write makes of a Lease. */
export interface LeaseTerm {
  readonly holder: string;
  readonly durationSeconds: number;
  readonly transitions: number;
  /** Undefined: it begins now. */
  readonly acquireTime: string | undefined;
}

/** Throws KubeError (malformed). What cannot be understood of its fields counts as absent, as for client-go. */
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

/** The object to write. Over another one it has that one's version: where somebody wrote meanwhile, the API server answers 409. */
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

/** metav1.MicroTime: always six fractional digits, or the API server refuses it. */
export function microTime(date: Date): string {
  return date.toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}
