import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import type { HeraldConfig } from '../../../../src/model/kinds/types.ts';
import { defaultConfig } from '../../../../src/model/kinds/default-config.ts';
import { awsConfig, type AwsPolicy } from '../../../../providers/aws/tables/config/config.ts';
import { config } from '../../../../test/unit/decisions/fixtures.ts';

addBuiltInProviders();

type PolicyLiteral = Partial<Omit<AwsPolicy, 'namespaceSelector'>> & { readonly labels?: Readonly<Record<string, string>> };

/** A policy that selects every namespace unless it names labels. A list that is not given is not set. */
export function policy({ labels = {}, ...lists }: PolicyLiteral = {}): AwsPolicy {
  return {
    name: 'tenants',
    namespaceSelector: { matchLabels: labels, matchExpressions: [] },
    securityGroups: [],
    subnets: [],
    eipAllocations: [],
    certificates: [],
    schemes: [],
    loadBalancers: [],
    principals: [],
    targetGroups: [],
    logBuckets: [],
    tagKeys: [],
    deletionProtection: false,
    maximumCapacityUnits: 0,
    ...lists,
  };
}

export function configWith(...policies: readonly AwsPolicy[]): HeraldConfig {
  return config({ defaultClass: false, parts: { aws: { ...awsConfig.of(defaultConfig), policies } } });
}
