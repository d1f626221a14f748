import { expect, test } from 'vitest';
import { acmCertificate, otherCertificate } from '../../support/stack-fixture.ts';
import { reasonText } from '../../../../../src/model/reasons.ts';
import { ProviderFixture } from '../../support/provider-fixture.ts';

const hosts = { 'herald.dev/aws-certificate-hosts': 'a.example.com', 'ssl-ports': '443' };

function discovering(): ProviderFixture {
  const town = new ProviderFixture();
  town.settings = { ...town.settings, certificateDiscovery: true };
  for (const [CertificateArn, DomainName] of [
    [acmCertificate, 'a.example.com'],
    [otherCertificate, 'b.example.com'],
  ] as const)
    town.cloud.world.certificates.set(CertificateArn, {
      CertificateArn,
      DomainName,
      SubjectAlternativeNames: [],
      Status: 'ISSUED',
      KeyAlgorithm: 'RSA_2048',
    });
  return town;
}

const callsOf = ({ cloud }: ProviderFixture, operation: string): number =>
  cloud.calls.filter((call) => call.operation === operation).length;

test.each(['herald.dev/aws', 'herald.dev/aws-classic'])(
  'nothing is created for a new Service of class %s while a certificate is unusable',
  async (loadBalancerClass) => {
    const absent = acmCertificate.replace(/.$/, '9');
    const foreign = acmCertificate.replace('us-east-1', 'eu-west-1');
    for (const [certificate, text] of [
      [absent, `certificate ${absent} of port 443 does not exist in ACM of region us-east-1`],
      [foreign, `certificate ${foreign} of port 443 is not in region us-east-1, where the load balancer is`],
    ] as const) {
      const town = new ProviderFixture();
      const literal = { name: 'web', ports: ['https:443/TCP@30443'], loadBalancerClass };
      const key = town.apply({ ...literal, annotations: { 'ssl-cert': certificate } });
      await town.run(120);
      expect(town.cloud.writes).toEqual([]);
      const found = town.results.get(key)?.reason;
      expect(found === undefined ? '' : reasonText(found)).toBe(text);
      town.apply({ ...literal, annotations: { 'ssl-cert': acmCertificate } });
      await town.run(300);
      expect([town.results.get(key)?.reason, town.results.get(key)?.ingress.length]).toEqual([undefined, 1]);
    }
  },
);

test('unreadable certificates are an error only for Services that request one by host name', async () => {
  const town = discovering();
  town.cloud.fault = ({ operation }) => (operation === 'acm:ListCertificates' ? { kind: 'error', code: 'denied' } : undefined);
  const plain = town.apply({ name: 'plain', ports: ['http:80/TCP@30080'] });
  await town.run(300);
  expect(callsOf(town, 'acm:ListCertificates')).toBe(0);
  const secure = town.apply({ name: 'secure', ports: ['https:443/TCP@30443'], annotations: hosts });
  await town.run(300);
  expect(town.results.get(secure)?.reason).toMatchObject({ code: 'AwsRefused', details: { operation: 'acm:ListCertificates' } });
  expect([town.results.get(plain)?.reason, town.results.get(plain)?.ingress.length]).toEqual([undefined, 1]);
  town.delete(secure);
  await town.run(300);
  expect(town.services.has(secure)).toBe(false);
});

test('a certificate is described once, and one deleted after it was listed is ignored', async () => {
  const town = discovering();
  town.cloud.fault = ({ operation, input }) =>
    operation === 'acm:DescribeCertificate' && JSON.stringify(input).includes(otherCertificate)
      ? { kind: 'error', code: 'notFound' }
      : undefined;
  const key = town.apply({ name: 'secure', ports: ['https:443/TCP@30443'], annotations: hosts });
  await town.run(1200);
  expect([town.results.get(key)?.reason, town.results.get(key)?.ingress.length]).toEqual([undefined, 1]);
  const looks = town.cloud.calls.filter(
    (call) => JSON.stringify(call).includes(acmCertificate) && call.operation === 'acm:DescribeCertificate',
  );
  expect(looks).toHaveLength(1);
});

test('concurrent reconciles share one read of the facts, also while load balancers provision', async () => {
  const town = discovering();
  const keys = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => town.apply({ name: `s${index}`, ports: [`http:80/TCP@3008${index}`] }));
  const services = [...town.services.values()];
  const said = await Promise.all(services.map(async (service) => town.provider.reconcile(service, town.snapshot)));
  expect(said.map((one) => one.reason?.code)).toEqual(keys.map(() => 'AwsProvisioning'));
  expect(callsOf(town, 'ec2:DescribeSubnets')).toBe(1);
  await town.run(30);
  expect(callsOf(town, 'ec2:DescribeSubnets')).toBe(1);
});
