import type { Service } from '../../../src/model/objects/service.ts';

/** Set on every Service before anything is created for it in AWS. The Service is not gone before its resources are. */
export const finalizer = 'herald.dev/aws';

/** True when the Service may have resources in AWS, whichever provider serves it now. */
export function hasOurFinalizer({ metadata }: Pick<Service, 'metadata'>): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/** Finalizers of other controllers that make load balancers: the AWS Load Balancer Controller, and Kubernetes' service controller. */
const foreignFinalizers = ['service.k8s.aws/resources', 'service.kubernetes.io/load-balancer-cleanup'];

/** Returns the finalizer of another controller that makes load balancers. Undefined: the Service has none. */
export function foreignFinalizerOf({ metadata }: Pick<Service, 'metadata'>): string | undefined {
  return foreignFinalizers.find((name) => metadata.finalizers?.includes(name));
}

/** ARNs of the Service's NLBs and names of its Classic ELBs, separated by blanks. They are found by it without listing the account. */
export const arnAnnotation = 'herald.dev/aws-load-balancer-arn';

/** The name of the PrivateLink endpoint service, which clients need. */
export const endpointServiceAnnotation = 'herald.dev/aws-endpoint-service-name';

/** The targets that Herald has registered in target groups which others use too. */
export const targetsAnnotation = 'herald.dev/aws-registered-targets';

/** Annotations that Herald itself writes. They request nothing. */
export const ownAnnotations: ReadonlySet<string> = new Set([arnAnnotation, endpointServiceAnnotation, targetsAnnotation]);

export type { ServiceMetadata } from '../../../src/controller/provider-module.ts';
