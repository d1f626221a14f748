import { describe, expect, test } from 'vitest';
import type { AwsErrorCode } from '../../../cloud/error.ts';
import { limits } from '../../../../../providers/aws/model/limits.ts';
import { acmCertificate, otherCertificate } from '../../support/stack-fixture.ts';
import { ProviderFixture } from '../../support/provider-fixture.ts';

const web = { name: 'web', ports: ['https:443/TCP@30443'], annotations: { 'ssl-cert': `${acmCertificate},${otherCertificate}` } };

function town(algorithm: string): ProviderFixture {
  const town = new ProviderFixture();
  const { certificates } = town.cloud.world;
  const certificate = certificates.get(otherCertificate);
  if (certificate !== undefined) certificates.set(otherCertificate, { ...certificate, KeyAlgorithm: algorithm });
  return town;
}

const describeCalls = ({ cloud }: ProviderFixture): number =>
  cloud.calls.filter(({ operation }) => operation === 'acm:DescribeCertificate').length;

test('a certificate with an unusable key is used with a warning, and is read once', async () => {
  const one = town('RSA_4096');
  const key = one.apply(web);
  await one.run(900);
  expect(one.results.get(key)).toMatchObject({
    ingress: [{ ipMode: 'VIP' }],
    warnings: [{ code: 'AwsCertificateKey', details: { certificate: otherCertificate, algorithm: 'RSA_4096' } }],
  });
  expect(describeCalls(one)).toBe(2);
});

test('usable keys, IAM certificates and Classic ELBs get no warning', async () => {
  const one = town('EC_prime256v1');
  const keys = [
    one.apply(web),
    one.apply({ ...web, name: 'iam', annotations: { 'ssl-cert': 'arn:aws:iam::123456789012:server-certificate/x' } }),
    one.apply({ ...web, name: 'old', loadBalancerClass: 'herald.dev/aws-classic', annotations: { 'ssl-cert': acmCertificate } }),
  ];
  await one.run(300);
  expect(keys.map((key) => one.results.get(key)?.warnings)).toEqual([[], [], []]);
});

test('a new load balancer waits ten seconds for ACM, and an existing one does not wait', async () => {
  const one = town('RSA_2048');
  const call = one.cloud.call.bind(one.cloud);
  const silent = (...[operation, input]: Parameters<typeof call>): Promise<unknown> =>
    operation === 'acm:DescribeCertificate' ? new Promise(() => undefined) : call(operation, input);
  one.cloud.call = silent as typeof call;
  const key = one.apply(web);
  const { clock } = one.cloud.world;
  const reconcile = async (seconds: number): Promise<unknown> => {
    const service = one.services.get(key);
    if (service === undefined) return undefined;
    const result = one.provider.reconcile(service, one.snapshot);
    await new Promise(setImmediate);
    clock.advance(seconds * 1000);
    return result;
  };
  await reconcile(limits.certificateWaitSeconds);
  expect(one.cloud.world.loadBalancers.size).toBe(1);
  await one.run(300);
  expect(one.results.get(key)).toMatchObject({ ingress: [{ ipMode: 'VIP' }], warnings: [] });
});

test('an unreachable ACM is asked once an hour for all certificates and Services', async () => {
  const one = town('RSA_4096');
  one.cloud.fault = ({ operation }) => (operation.startsWith('acm:') ? { kind: 'error', code: 'unreachable' } : undefined);
  const keys = [one.apply(web), one.apply({ ...web, name: 'other' })];
  await one.run(limits.certificateKeysRefusedSeconds - 60);
  expect(describeCalls(one)).toBe(1);
  for (const key of keys)
    expect(one.results.get(key)?.warnings?.map(({ code }) => code)).toEqual(['AwsCertificateKeyUnknown', 'AwsCertificateKeyUnknown']);
  one.cloud.fault = (): undefined => undefined;
  await one.run(900);
  for (const key of keys) expect(one.results.get(key)?.warnings?.map(({ code }) => code)).toEqual(['AwsCertificateKey']);
});

test('an unknown certificate gives an existing load balancer a warning, and others are still read', async () => {
  const one = town('RSA_4096');
  one.cloud.world.certificates.delete(acmCertificate);
  one.apply({ ...web, annotations: {} });
  await one.run(300);
  const key = one.apply({ ...web, annotations: { 'ssl-cert': `${acmCertificate},${otherCertificate}` } });
  one.cloud.fault = ({ operation }) => (operation === 'elbv2:CreateListener' ? { kind: 'error', code: 'certificate' } : undefined);
  await one.run(300);
  expect(one.results.get(key)?.warnings).toMatchObject([
    { code: 'AwsCertificateKeyUnknown', details: { why: 'ACM does not know it' } },
    { code: 'AwsCertificateKey' },
  ]);
});

test('a denied request to ACM gives a warning, and the load balancer is still made', async () => {
  const one = town('RSA_2048');
  one.cloud.fault = ({ operation }) => (operation.startsWith('acm:') ? { kind: 'error', code: 'denied' } : undefined);
  const key = one.apply({ ...web, annotations: { 'ssl-cert': acmCertificate } });
  await one.run(300);
  expect(one.results.get(key)).toMatchObject({
    ingress: [{ ipMode: 'VIP' }],
    warnings: [
      {
        code: 'AwsCertificateKeyUnknown',
        details: { certificate: acmCertificate, why: 'acm:DescribeCertificate failed with Fake.denied' },
      },
    ],
  });
});

describe('certificates that ACM refuses to describe', () => {
  const arnOf = (account: string, index: number): string =>
    `arn:aws:acm:us-east-1:${account}:certificate/00000000-0000-0000-0000-${String(index).padStart(12, '0')}`;
  const foreign = (count: number): string[] => Array.from({ length: count }, (_, index) => arnOf('999999999999', index));

  function denying(one: ProviderFixture, isDenied: (arn: string) => boolean, code: AwsErrorCode = 'denied'): void {
    one.cloud.fault = ({ operation, input }) =>
      operation === 'acm:DescribeCertificate' && isDenied((input as { CertificateArn: string }).CertificateArn)
        ? { kind: 'error', code }
        : undefined;
  }

  test.each(['denied', 'invalid', 'other'] as const)(
    'do not stop the checks of others when they are of another account: %s',
    async (code) => {
      const one = town('RSA_4096');
      denying(one, (arn) => arn.includes(':999999999999:'), code);
      one.apply({ ...web, name: 'tenant', annotations: { 'ssl-cert': foreign(20).join(',') } });
      await one.run(120);
      const key = one.apply({ ...web, annotations: { 'ssl-cert': otherCertificate } });
      await one.run(120);
      expect(one.results.get(key)?.warnings?.map(({ code }) => code)).toEqual(['AwsCertificateKey']);
      // Three of the other account, and this one.
      expect(describeCalls(one)).toBe(4);
      await one.run(limits.certificateKeysRefusedSeconds - 300);
      expect(describeCalls(one)).toBe(4);
      await one.run(900);
      expect(describeCalls(one)).toBe(7);
    },
  );

  test('do not stop the checks of others in the same account', async () => {
    const one = town('RSA_4096');
    denying(one, (arn) => arn === acmCertificate);
    const key = one.apply(web);
    await one.run(900);
    expect(one.results.get(key)?.warnings).toMatchObject([
      { code: 'AwsCertificateKeyUnknown', details: { certificate: acmCertificate } },
      { code: 'AwsCertificateKey', details: { certificate: otherCertificate } },
    ]);
    expect(describeCalls(one)).toBe(2);
  });

  test('are asked for three times an hour when the permission is missing, and again when it is there', async () => {
    const one = town('RSA_2048');
    denying(one, () => true);
    const own = Array.from({ length: 9 }, (_, index) => arnOf('123456789012', index));
    const key = one.apply({ ...web, annotations: { 'ssl-cert': [otherCertificate, ...own].join(',') } });
    await one.run(limits.certificateKeysRefusedSeconds - 60);
    expect(describeCalls(one)).toBe(3);
    await one.run(limits.certificateKeysRefusedSeconds);
    // The problem is that of the controller, which says it once.
    expect(one.results.get(key)?.warnings ?? []).toEqual([]);
    const told = one.warnings.filter(({ permission }) => permission === 'acm:DescribeCertificate');
    expect(told).toMatchObject([{ certificates: 'arn:aws:acm:us-east-1:123456789012' }]);
    one.cloud.fault = (): undefined => undefined;
    await one.run(900);
    expect(
      one.results.get(key)?.warnings?.some(({ details }) => (details as { certificate: string }).certificate === otherCertificate),
    ).toBe(false);
  });

  test('a throttled request is repeated after a minute', async () => {
    const one = town('RSA_4096');
    denying(one, () => true, 'throttled');
    const key = one.apply(web);
    await one.run(60);
    one.cloud.fault = (): undefined => undefined;
    await one.run(600);
    expect(one.results.get(key)?.warnings?.map(({ code }) => code)).toEqual(['AwsCertificateKey']);
  });
});
