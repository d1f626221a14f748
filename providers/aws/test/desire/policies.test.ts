import { describe, expect, test } from 'vitest';
import type { BalancerKind } from '../../../../providers/aws/annotations/entry.ts';
import { policyOf } from '../../../../providers/aws/desire/policies/namespace-policy.ts';
import type { Existing } from '../../../../providers/aws/model/facts.ts';
import type { AwsPolicy } from '../../../../providers/aws/tables/config/config.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { metadata } from '../../../../test/unit/decisions/fixtures.ts';
import { codesOf, desire } from '../support/desire-fixture.ts';
import { configWith, policy } from '../support/policies.ts';
import { acmCertificate, awsMember, otherCertificate, settings } from '../support/stack-fixture.ts';

const ports = ['https:443/TCP@30443'];
const arn = 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/theirs/1a2b';
const adopted: Existing & { readonly arn: string } = {
  arn,
  scheme: 'internal',
  subnets: [{ SubnetId: 'subnet-private-0' }],
  ipAddressType: 'ipv4',
  hasSecurityGroups: true,
};
const discovering = { ...settings, certificateDiscovery: true };

interface Asked {
  readonly kind?: BalancerKind;
  readonly isClassless?: true;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly existing?: Parameters<typeof desire>[1];
}

const plain = { name: 'web', ports };
const service = { ...plain, loadBalancerClass: 'herald.dev/aws' };

const refusals = async ({ kind = 'nlb', annotations = {}, existing = {}, isClassless }: Asked, ...policies: readonly AwsPolicy[]) => {
  const member = { ...awsMember(kind, { ...(isClassless ? plain : service), annotations }), policy: { namespace: 'default', policies } };
  const { errors, desired } = await desire(member, { settings: discovering, ...existing });
  expect(desired === undefined).toBe(errors.length > 0);
  return errors.map(({ code, details }) => ({ code, ...(details as object) }));
};

const account = 'arn:aws:iam::210987654321:root';
const subnets = 'subnet-private-0,subnet-private-1';
const publicSubnets = 'subnet-public-0, subnet-public-1, subnet-public-2';
const open = { scheme: 'internet-facing' };

/** What a Service asks for, the list that decides about it, the annotation, the resources, and other lists that the Service needs. */
const asks: readonly (readonly [string, Asked, keyof AwsPolicy, string, readonly string[], Partial<AwsPolicy>?])[] = [
  ['security groups by id', { annotations: { 'security-groups': 'sg-00000aaa' } }, 'securityGroups', 'security-groups', ['sg-00000aaa']],
  ['security groups by Name tag', { annotations: { 'security-groups': 'nodes' } }, 'securityGroups', 'security-groups', ['sg-00000aaa']],
  [
    'extra security groups',
    { kind: 'classic', annotations: { 'extra-security-groups': 'sg-00000aaa' } },
    'securityGroups',
    'extra-security-groups',
    ['sg-00000aaa'],
  ],
  ['subnets of an NLB', { annotations: { subnets } }, 'subnets', 'subnets', subnets.split(',')],
  ['subnets by Name tag', { annotations: { subnets: 'private-us-east-1a' } }, 'subnets', 'subnets', ['subnet-private-0']],
  [
    'subnets of a Classic ELB',
    { kind: 'classic', annotations: { subnets, scheme: 'internal' } },
    'subnets',
    'subnets',
    subnets.split(','),
    { schemes: ['internal'] },
  ],
  [
    'Elastic IPs',
    { annotations: { ...open, 'eip-allocations': 'eipalloc-1,eipalloc-2,eipalloc-3' } },
    'eipAllocations',
    'eip-allocations',
    ['eipalloc-1', 'eipalloc-2', 'eipalloc-3'],
    { schemes: ['internet-facing'] },
  ],
  [
    'clients of its endpoint service',
    { annotations: { 'herald.dev/aws-endpoint-service': 'true', 'herald.dev/aws-endpoint-service-allowed-principals': account } },
    'principals',
    'herald.dev/aws-endpoint-service-allowed-principals',
    [account],
  ],
  ['certificates of an NLB', { annotations: { 'ssl-cert': acmCertificate } }, 'certificates', 'ssl-cert', [acmCertificate]],
  [
    'certificates of a Classic ELB',
    { kind: 'classic', annotations: { 'ssl-cert': acmCertificate } },
    'certificates',
    'ssl-cert',
    [acmCertificate],
  ],
  [
    'certificates of a port',
    { annotations: { 'herald.dev/aws-ssl-cert.https': acmCertificate } },
    'certificates',
    'herald.dev/aws-ssl-cert.https',
    [acmCertificate],
  ],
  [
    'certificates by host name',
    { annotations: { 'herald.dev/aws-certificate-hosts': 'www.example.com' } },
    'certificates',
    'herald.dev/aws-certificate-hosts',
    [acmCertificate],
  ],
  ['a scheme', { annotations: open }, 'schemes', 'scheme', ['internet-facing']],
  ['a scheme by the older annotation', { annotations: { internal: 'false' } }, 'schemes', 'internal', ['internet-facing']],
  [
    'an existing NLB',
    { annotations: { 'herald.dev/aws-load-balancer': 'theirs' }, existing: { existing: { adopted } } },
    'loadBalancers',
    'herald.dev/aws-load-balancer',
    ['theirs'],
  ],
];

const fullKey = (key: string): string => (key.includes('/') ? key : `service.beta.kubernetes.io/aws-load-balancer-${key}`);

for (const [what, asked, field, key, values, others = {}] of asks)
  describe(`a Service that asks for ${what}`, () => {
    test('is refused where a policy selects its namespace and the list is not set', async () => {
      expect(await refusals(asked, policy(others))).toMatchObject([
        {
          code: 'AwsNotAllowed',
          field,
          namespace: 'default',
          key: fullKey(key),
          refused: values.join(', '),
          allowed: '',
          policies: 'tenants',
        },
      ]);
    });

    test('is refused if the list names others', async () => {
      const listed = field === 'schemes' ? ['internal'] : ['other'];
      expect(await refusals(asked, policy({ ...others, [field]: listed }))).toMatchObject([
        { code: 'AwsNotAllowed', refused: values.join(', '), allowed: listed.join(', ') },
      ]);
    });

    test('is served if the list names all of them', async () => {
      expect(await refusals(asked, policy({ ...others, [field]: values }))).toEqual([]);
    });

    test('is served if one of several policies allows them', async () => {
      expect(await refusals(asked, policy(others), policy({ ...others, [field]: values }))).toEqual([]);
    });
  });

for (const [what, asked, field, , , others = {}] of asks.filter(([, , list]) => list !== 'schemes'))
  test(`a Service that asks for ${what} is served if the list has *`, async () => {
    expect(await refusals(asked, policy({ ...others, [field]: ['*'] }))).toEqual([]);
  });

describe('what Herald chooses', () => {
  test('a Service that names nothing is served where no list is set', async () => {
    expect(await refusals({}, policy())).toEqual([]);
  });

  test('a Service without a class may have the scheme that it gets by default', async () => {
    expect(await refusals({ kind: 'classic', isClassless: true }, policy())).toEqual([]);
    expect(await refusals({ kind: 'classic', isClassless: true }, policy({ schemes: ['internal'] }))).toMatchObject([
      { refused: 'internet-facing' },
    ]);
  });

  test('the default scheme is refused if the list has only the other', async () => {
    expect(await refusals({}, policy({ schemes: ['internet-facing'] }))).toMatchObject([
      { field: 'schemes', key: '', refused: 'internal' },
    ]);
  });

  test('only allowed subnets are discovered', async () => {
    const member = {
      ...awsMember('nlb', service),
      policy: { namespace: 'default', policies: [policy({ subnets: ['subnet-private-1'] })] },
    };
    const { nlb } = await desire(member);
    expect(nlb.subnets).toEqual([{ SubnetId: 'subnet-private-1' }]);
  });

  test('discovered subnets are refused if the list has none of them', async () => {
    const annotations = { scheme: 'internet-facing' };
    const lists = { schemes: ['internet-facing'], subnets: ['subnet-private-1'] } as const;
    expect(await refusals({ annotations }, policy(lists))).toMatchObject([{ field: 'subnets', key: '', refused: publicSubnets }]);
  });

  test('an NLB keeps a subnet that is allowed no longer, and the Service is refused', async () => {
    const existing = { nlb: { ...adopted, recordedSubnets: 'ipv4 subnet-private-0 subnet-private-1' } };
    expect(await refusals({ existing: { existing } }, policy({ subnets: ['subnet-private-1'] }))).toMatchObject([
      { field: 'subnets', key: '', refused: 'subnet-private-0' },
    ]);
  });

  test('the scheme and the subnets of an adopted NLB are decided by its owner', async () => {
    const annotations = { 'herald.dev/aws-load-balancer': arn };
    const existing = { existing: { adopted: { ...adopted, scheme: 'internet-facing' as const } } };
    const lists = { schemes: ['internal'], subnets: ['subnet-private-2'], loadBalancers: ['theirs'] } as const;
    expect(await refusals({ annotations, existing }, policy(lists))).toEqual([]);
  });
});

test('all that is not allowed is reported at once', async () => {
  const annotations = { ...open, 'security-groups': 'sg-00000aaa', 'ssl-cert': `${acmCertificate},${otherCertificate}` };
  const errors = await refusals({ annotations }, policy({ certificates: [otherCertificate] }));
  expect(errors.map((one) => ('field' in one ? one.field : ''))).toEqual(['schemes', 'securityGroups', 'certificates']);
});

test('a Service without a policy may ask for everything', async () => {
  const annotations = { ...open, 'security-groups': 'sg-00000aaa', 'ssl-cert': acmCertificate };
  expect(codesOf((await desire(awsMember('nlb', { ...service, annotations }))).errors)).toEqual([]);
});

test('the reason names annotation, resources, namespace, policies and what is allowed', async () => {
  const annotations = { 'ssl-cert': acmCertificate };
  const member = {
    ...awsMember('nlb', { ...service, annotations }),
    policy: { namespace: 'shop', policies: [policy({ certificates: [otherCertificate] })] },
  };
  const [error] = (await desire(member)).errors;
  const key = fullKey('ssl-cert');
  expect(error && [reasonText(error), remedyText(error)]).toEqual([
    `annotation ${key} asks for certificate ${acmCertificate}, which HeraldConfig/default does not allow in namespace "shop" (spec.aws.policies: tenants)`,
    `write ${otherCertificate} in ${key}; or let the operator add ${acmCertificate} to certificates of a policy in spec.aws.policies of HeraldConfig/default`,
  ]);
});

describe('the policies of a namespace', () => {
  const snapshot = (namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>, ...policies: readonly AwsPolicy[]): Store => {
    const store = new Store(configWith(...policies));
    for (const [name, labels] of Object.entries(namespaces)) store.upsert({ kind: 'Namespace', metadata: metadata(name, '', labels) });
    return store;
  };
  const shop = policy({ name: 'shop', labels: { team: 'shop' } });
  const byName = policy({ name: 'by-name', labels: { 'kubernetes.io/metadata.name': 'web' } });

  test('are those whose selectors match its labels', () => {
    const store = snapshot({ web: { team: 'shop' }, other: {} }, shop, byName);
    expect(policyOf('web', store)).toEqual({ namespace: 'web', policies: [shop, byName] });
    expect(policyOf('other', store)).toBeUndefined();
  });

  test('can be selected by name in a directory without Namespaces', () => {
    expect(policyOf('web', snapshot({}, shop, byName))).toEqual({ namespace: 'web', policies: [byName] });
    expect(policyOf('other', snapshot({}, shop, byName))).toBeUndefined();
  });

  test('allow nothing that is named while the Namespace has not been read', async () => {
    const store = snapshot({ other: {} }, shop);
    expect(policyOf('web', store)).toEqual({ namespace: 'web', policies: [] });
    expect(await refusals({})).toEqual([]);
    expect(await refusals({ annotations: open })).toMatchObject([{ field: 'schemes', policies: '' }]);
    expect(policyOf('web', snapshot({ other: {} }))).toBeUndefined();
  });
});

describe('a policy bounds settings that cost money, write elsewhere or outlive the Service', () => {
  const logs = { 'access-log-enabled': 'true', 'access-log-s3-bucket-name': 'theirs' };
  test.each<readonly [string, Asked, string, string, Partial<AwsPolicy>, Partial<AwsPolicy>]>([
    [
      'a log bucket of an NLB',
      { annotations: logs },
      'access-log-s3-bucket-name',
      'theirs',
      { logBuckets: ['ours'] },
      { logBuckets: ['theirs'] },
    ],
    [
      'a log bucket of a Classic ELB',
      { kind: 'classic', annotations: logs },
      'access-log-s3-bucket-name',
      'theirs',
      { logBuckets: ['ours'] },
      { logBuckets: ['*'] },
    ],
    [
      'a log bucket among the attributes',
      { annotations: { attributes: 'access_logs.s3.enabled=true,access_logs.s3.bucket=theirs' } },
      'attributes',
      'theirs',
      {},
      { logBuckets: ['theirs'] },
    ],
    [
      'deletion protection',
      { annotations: { attributes: 'deletion_protection.enabled=true' } },
      'attributes',
      'deletion_protection.enabled=true',
      {},
      { deletionProtection: true },
    ],
    [
      'reserved capacity',
      { annotations: { 'minimum-load-balancer-capacity': 'CapacityUnits=3001' } },
      'minimum-load-balancer-capacity',
      '3001',
      { maximumCapacityUnits: 3000 },
      { maximumCapacityUnits: 3001 },
    ],
    [
      'tags',
      { annotations: { 'additional-resource-tags': 'team=shop,budget=all' } },
      'additional-resource-tags',
      'budget',
      { tagKeys: ['team'] },
      { tagKeys: ['team', 'budget'] },
    ],
    [
      'tags of a Classic ELB',
      { kind: 'classic', annotations: { 'additional-resource-tags': 'team=shop' } },
      'additional-resource-tags',
      'team',
      {},
      { tagKeys: ['*'] },
    ],
  ])('%s', async (_, asked, key, refused, less, enough) => {
    const schemes = { schemes: ['internal', 'internet-facing'] } as const;
    const [found, ...others] = await refusals(asked, policy({ ...schemes, ...less }));
    expect([found, others]).toMatchObject([{ code: 'AwsNotAllowed', key: fullKey(key), refused }, []]);
    const wrong = { code: 'AwsNotAllowed', details: found } as unknown as Parameters<typeof reasonText>[0];
    expect(reasonText(wrong)).toContain(refused);
    expect(remedyText(wrong)).toContain(Object.keys(enough)[0]);
    expect(await refusals(asked, policy({ ...schemes, ...enough }))).toEqual([]);
    // A second policy only allows more.
    expect(await refusals(asked, policy({ ...schemes, ...less }), policy({ ...schemes, ...enough }))).toEqual([]);
  });

  test.each([
    ['no capacity', { 'minimum-load-balancer-capacity': 'CapacityUnits=0' }],
    ['no protection', { attributes: 'deletion_protection.enabled=false' }],
  ])('%s needs no permission', async (_, annotations) => {
    expect(await refusals({ annotations }, policy())).toEqual([]);
  });
});
