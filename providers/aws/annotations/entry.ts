import type { ValueType } from './value-types.ts';

export type BalancerKind = 'nlb' | 'classic';

/** How an annotation of upstream is taken: as there, otherwise than there, or not at all. */
type Fidelity = 'yes' | 'differs' | 'no';

export interface AnnotationEntry<T> {
  /** The whole key; a family's goes on with "." and a port or the like. */
  readonly key: string;
  readonly family?: string;
  readonly type: ValueType<T>;
  /** On which kind of load balancer it does anything; none: it is known, but not supported. */
  readonly kinds: readonly BalancerKind[];
  /** For people. */
  readonly default: string;
  readonly description: string;
  /** Only of keys that upstream has: the AWS Load Balancer Controller, the cloud provider AWS. */
  readonly lbc?: Fidelity;
  readonly cpa?: Fidelity;
  /** In what it differs, or why not. */
  readonly difference?: string;
}

export const legacyPrefix = 'service.beta.kubernetes.io/';
export const balancerPrefix = `${legacyPrefix}aws-load-balancer-`;
export const heraldPrefix = 'herald.dev/aws-';

type Rest<T> = Omit<AnnotationEntry<T>, 'key' | 'kinds' | 'type'>;

/** Gives an entry the type of its value. `suffix` follows aws-load-balancer-. */
export const both = <T>(suffix: string, type: ValueType<T>, rest: Rest<T>): AnnotationEntry<T> => ({
  key: `${balancerPrefix}${suffix}`,
  type,
  kinds: ['nlb', 'classic'],
  ...rest,
});

export const nlb = <T>(suffix: string, type: ValueType<T>, rest: Rest<T>): AnnotationEntry<T> => ({
  ...both(suffix, type, rest),
  kinds: ['nlb'],
});

export const classic = <T>(suffix: string, type: ValueType<T>, rest: Rest<T>): AnnotationEntry<T> => ({
  ...both(suffix, type, rest),
  kinds: ['classic'],
});

export const unsupported = <T>(suffix: string, type: ValueType<T>, rest: Rest<T>): AnnotationEntry<T> => ({
  ...both(suffix, type, rest),
  kinds: [],
});

/** Our own: `suffix` follows herald.dev/aws-. */
export const own = <T>(suffix: string, type: ValueType<T>, rest: Rest<T> & Pick<AnnotationEntry<T>, 'kinds'>): AnnotationEntry<T> => ({
  key: `${heraldPrefix}${suffix}`,
  type,
  ...rest,
});
