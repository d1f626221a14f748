import type { Service } from '../../../src/model/objects/service.ts';

/** On every Service for which something was or may be made in AWS: it is not gone before that is. */
export const finalizer = 'herald.dev/aws';

/** Whether something was made for the Service in AWS, and may still be there, whoever serves it now. */
export function hasOurFinalizer({ metadata }: Pick<Service, 'metadata'>): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/** ARNs of the load balancers of the Service, names of Classic ELBs, separated by blanks: by them they are found again without listing the account. */
export const arnAnnotation = 'herald.dev/aws-load-balancer-arn';

/** What is on Services by our own hand, and asks for nothing. */
export const ownAnnotations: ReadonlySet<string> = new Set([arnAnnotation]);

export type { ServiceMetadata } from '../../../src/controller/provider-module.ts';
