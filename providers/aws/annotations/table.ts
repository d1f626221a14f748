import type { AnnotationEntry } from './entry.ts';
import { listenerAnnotations } from './listeners.ts';
import { loadBalancerAnnotations } from './load-balancer.ts';
import { privateLinkAnnotations } from './private-link.ts';
import { albTargetAnnotations, targetGroupAnnotations } from './targets.ts';

/** All annotations that the AWS provider knows. The parser, its tests and docs/reference/aws-annotations.md are derived from this table. */
export const annotationTable = {
  ...loadBalancerAnnotations,
  ...listenerAnnotations,
  ...privateLinkAnnotations,
  ...albTargetAnnotations,
  ...targetGroupAnnotations,
} as const;

export type AnnotationName = keyof typeof annotationTable;

type ValueOf<E> = E extends AnnotationEntry<infer T> ? T : never;

/** Annotations whose key continues after a dot. */
export const familyNames = [
  'listenerAttributes',
  'targetGroupAttributesOfPort',
  'weightedActions',
  'certificateOfPort',
  'backendProtocolOfPort',
  'albTargetOfPort',
  'targetGroupOfPort',
] as const satisfies readonly AnnotationName[];
type FamilyName = (typeof familyNames)[number];

/** The annotations of a Service as values. A family is a map, keyed by the part after the dot. */
export type AnnotationValues = {
  readonly [N in Exclude<AnnotationName, FamilyName>]?: ValueOf<(typeof annotationTable)[N]>;
} & { readonly [N in FamilyName]: ReadonlyMap<string, ValueOf<(typeof annotationTable)[N]>> };
