import { tagKeys } from '../../model/tags.ts';
import type { Tags } from '../../model/observed.ts';
import { allows, type NamespacePolicy } from './namespace-policy.ts';

/**
 * Returns why the Services of a namespace may not use a target group of another owner. Undefined: they may, because a policy of the operator
 * allows the group, or, where no policy selects the namespace, because the owner of the group names the namespace in a tag or is a Service of
 * a namespace with this name.
 */
export function whyNotConsented(arn: string, tags: Tags, namespace: string, policy: NamespacePolicy | undefined): string | undefined {
  if (policy !== undefined)
    return allows(policy, 'targetGroups', arn, false) ? undefined : `is allowed by no policy of namespace ${namespace}`;
  const [owner] = (tags[tagKeys.service] ?? '').split('/');
  const named = (tags[tagKeys.namespaces] ?? '').split(/[\s,]+/);
  return owner === namespace || named.includes(namespace)
    ? undefined
    : `is not shared with namespace ${namespace} by its owner: its tag ${tagKeys.namespaces} does not name it`;
}
