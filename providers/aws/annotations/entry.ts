import type { ValueType } from './value-types.ts';

export type BalancerKind = 'nlb' | 'classic';

/** How Herald treats an annotation compared with upstream: the same, differently, or not at all. */
type Fidelity = 'yes' | 'differs' | 'no';

export interface AnnotationEntry<T> {
  /** The whole key. A key of a family is continued with "." and a member, such as a port. */
  readonly key: string;
  readonly family?: string;
  readonly type: ValueType<T>;
  /** The kinds of load balancer on which the annotation has an effect. Empty: the annotation is known, but not supported. */
  readonly kinds: readonly BalancerKind[];
  /** Shown on the reference page. */
  readonly default: string;
  readonly description: string;
  /** Only for keys that upstream defines too. `lbc`: the AWS Load Balancer Controller. `cpa`: the cloud provider AWS. */
  readonly lbc?: Fidelity;
  readonly cpa?: Fidelity;
  /** How Herald differs from upstream, or why it does not support the annotation. */
  readonly difference?: string;
}

export const legacyPrefix = 'service.beta.kubernetes.io/';
export const balancerPrefix = `${legacyPrefix}aws-load-balancer-`;
export const heraldPrefix = 'herald.dev/aws-';

type Rest<T> = Omit<AnnotationEntry<T>, 'key' | 'kinds' | 'type'>;

/** An annotation for both kinds of load balancer. `suffix` follows "aws-load-balancer-" in the key. */
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

/** An annotation that only Herald defines, by default for NLBs. `suffix` follows "herald.dev/aws-" in the key. */
export const own = <T>(
  suffix: string,
  type: ValueType<T>,
  rest: Rest<T> & Partial<Pick<AnnotationEntry<T>, 'kinds'>>,
): AnnotationEntry<T> => ({ key: `${heraldPrefix}${suffix}`, type, kinds: ['nlb'], ...rest });
