import { closestName } from '../../../src/lang/closest-name.ts';
import { reason } from '../../../src/model/reasons.ts';
import { annotationTable, type AnnotationValues } from '../annotations/table.ts';
import { attributeNames, classicSslPolicies, isKnownAttribute, type AttributeOwner } from '../annotations/attribute-names.ts';
import type { Facts } from '../model/facts.ts';
import type { Issues } from '../model/issues.ts';

/** Reports attributes that AWS would perhaps refuse only when the new load balancer costs money. An existing one is simply changed. */
export function checkAttributeNames(
  { attributes = {}, targetGroupAttributes = {}, targetGroupAttributesOfPort, listenerAttributes }: AnnotationValues,
  issues: Issues,
): void {
  checkNames('loadBalancer', annotationTable.attributes.key, attributes, issues);
  checkNames('targetGroup', annotationTable.targetGroupAttributes.key, targetGroupAttributes, issues);
  for (const [port, own] of targetGroupAttributesOfPort)
    checkNames('targetGroup', `${annotationTable.targetGroupAttributesOfPort.key}.${port}`, own, issues);
  for (const [port, own] of listenerAttributes) checkNames('listener', `${annotationTable.listenerAttributes.key}.${port}`, own, issues);
}

/** A name that is nearly one that AWS has is a typing error. Any other may be newer than this version of Herald: AWS is asked. */
function checkNames(of: AttributeOwner, key: string, attributes: Readonly<Record<string, string>>, issues: Issues): void {
  for (const name of Object.keys(attributes)) {
    if (isKnownAttribute(of, name)) continue;
    const nearest = closestName(name, attributeNames[of]);
    const unknown = reason('AwsAttributeUnknown', { key, name, nearest: nearest ?? '' });
    if (nearest === undefined) issues.warn(unknown);
    else issues.error(unknown);
  }
}

/** Reports a security policy that AWS does not have, before a new NLB is created. `setting`: the annotation or option that names it. */
export function checkSslPolicy(setting: string, policy: string, policies: Facts['sslPolicies'], issues: Issues): void {
  if (policies?.get(policy) === false) issues.error(reason('AwsTlsPolicyUnknown', { setting, policy, of: 'elbv2' }));
}

/** The same for a new Classic ELB. */
export function checkClassicSslPolicy(setting: string, policy: string | undefined, issues: Issues): void {
  if (policy !== undefined && !classicSslPolicies.includes(policy))
    issues.error(reason('AwsTlsPolicyUnknown', { setting, policy, of: 'elb' }));
}
