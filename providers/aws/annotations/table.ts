import type { AnnotationEntry } from './entry.ts';
import { listenerAnnotations } from './listeners.ts';
import { loadBalancerAnnotations } from './load-balancer.ts';

/** Every annotation that the AWS provider knows. The parser, its tests and docs/reference/aws-annotations.md come from it. */
export const annotationTable = { ...loadBalancerAnnotations, ...listenerAnnotations } as const;

export type AnnotationName = keyof typeof annotationTable;

type ValueOf<E> = E extends AnnotationEntry<infer T> ? T : never;

/** Those whose key goes on after a dot. */
export const familyNames = [
  'listenerAttributes',
  'targetGroupAttributesOfPort',
  'weightedActions',
  'certificateOfPort',
  'backendProtocolOfPort',
] as const satisfies readonly AnnotationName[];
type FamilyName = (typeof familyNames)[number];

/** What is written on a Service, read; of a family by what follows the dot. */
export type AnnotationValues = {
  readonly [N in Exclude<AnnotationName, FamilyName>]?: ValueOf<(typeof annotationTable)[N]>;
} & { readonly [N in FamilyName]: ReadonlyMap<string, ValueOf<(typeof annotationTable)[N]>> };
