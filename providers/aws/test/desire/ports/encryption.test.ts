import type { Member } from '../../../../../providers/aws/desire/stack.ts';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../../../src/lang/defined.ts';
import { acmCertificate, awsMember, otherCertificate, settings } from '../../support/stack-fixture.ts';
import { codesOf, desire } from '../../support/desire-fixture.ts';

const https = ['https:443/TCP@30443'];

describe('encryption on a Classic ELB', () => {
  /** kubernetes.io, "TLS support on AWS": certificate or not, backend-protocol, listener protocol, instance protocol. */
  test.each([
    [true, undefined, 'SSL', 'TCP'],
    [true, 'tcp', 'SSL', 'TCP'],
    [true, 'ssl', 'SSL', 'SSL'],
    [true, 'http', 'HTTPS', 'HTTP'],
    [true, 'https', 'HTTPS', 'HTTPS'],
    [false, 'http', 'HTTP', 'HTTP'],
    [false, undefined, 'TCP', 'TCP'],
    [false, 'https', 'TCP', 'TCP'],
    [false, 'ssl', 'TCP', 'TCP'],
  ])(
    'certificate: %s, backend-protocol %s gives listener %s and instance protocol %s',
    async (certificate, backend, listener, instance) => {
      const annotations = {
        ...(certificate ? { 'ssl-cert': acmCertificate } : {}),
        ...defined({ 'backend-protocol': backend }),
      };
      const { classic } = await desire(awsMember('classic', { name: 'web', ports: https, annotations }));
      const expected = { LoadBalancerPort: 443, InstancePort: 30_443, Protocol: listener, InstanceProtocol: instance };
      expect(classic.listeners).toEqual([certificate ? { ...expected, SSLCertificateId: acmCertificate } : expected]);
    },
  );

  test('ssl-ports limits encryption to its ports; with backend https the others are TCP', async () => {
    const ports = ['http:80/TCP@30080', ...https];
    const annotations = { 'ssl-cert': acmCertificate, 'backend-protocol': 'https', 'ssl-ports': ' HTTPS ' };
    const { classic } = await desire(awsMember('classic', { name: 'web', ports, annotations }));
    expect(classic.listeners.map(({ Protocol, InstanceProtocol }) => [Protocol, InstanceProtocol])).toEqual([
      ['TCP', 'TCP'],
      ['HTTPS', 'HTTPS'],
    ]);
  });

  test('one port takes its own certificate and backend protocol', async () => {
    const annotations = {
      'ssl-cert': acmCertificate,
      'backend-protocol': 'http',
      'herald.dev/aws-ssl-cert.alt': otherCertificate,
      'herald.dev/aws-backend-protocol.8443': 'ssl',
    };
    const { classic } = await desire(awsMember('classic', { name: 'web', ports: [...https, 'alt:8443/TCP@30843'], annotations }));
    expect(classic.listeners).toMatchObject([
      { Protocol: 'HTTPS', InstanceProtocol: 'HTTP', SSLCertificateId: acmCertificate },
      { Protocol: 'SSL', InstanceProtocol: 'SSL', SSLCertificateId: otherCertificate },
    ]);
  });

  test.each([
    [{}, 'Cluster', 'TCP:30443'],
    [{ 'backend-protocol': 'https' }, 'Cluster', 'TCP:30443'],
    [{ 'backend-protocol': 'https', 'ssl-cert': acmCertificate }, 'Cluster', 'SSL:30443'],
    [{ 'backend-protocol': 'ssl', 'ssl-cert': acmCertificate, 'healthcheck-port': '9000' }, 'Cluster', 'TCP:9000'],
    [{ 'backend-protocol': 'ssl', 'ssl-cert': acmCertificate, 'healthcheck-port': 'https' }, 'Cluster', 'SSL:30443'],
    [{ 'healthcheck-port': 'traffic-port' }, 'Local', 'HTTP:30443/healthz'],
    [{ 'healthcheck-port': 'traffic-port' }, 'Cluster', 'TCP:30443'],
    [{ 'healthcheck-protocol': 'HTTP' }, 'Cluster', 'HTTP:30443/'],
    [{ 'healthcheck-protocol': 'http', 'healthcheck-path': '/ready', 'healthcheck-port': '8080' }, 'Cluster', 'HTTP:8080/ready'],
    [{}, 'Local', 'HTTP:32000/healthz'],
    [{ 'backend-protocol': 'ssl' }, 'Local', 'HTTP:32000/healthz'],
  ] as const)('annotations %o with policy %s give the health check %s', async (annotations, externalTrafficPolicy, target) => {
    const { classic } = await desire(
      awsMember('classic', {
        name: 'web',
        ports: https,
        annotations,
        externalTrafficPolicy,
        healthCheckNodePort: externalTrafficPolicy === 'Local' ? 32_000 : 0,
      }),
    );
    expect(classic.healthCheck).toEqual({ Target: target, Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6 });
  });

  test('a health check with SSL uses a port that encrypts again, not a plain one before it', async () => {
    const annotations = { 'ssl-cert': acmCertificate, 'ssl-ports': '443', 'backend-protocol': 'ssl' };
    const { classic } = await desire(awsMember('classic', { name: 'web', ports: ['http:80/TCP@30080', ...https], annotations }));
    expect(classic.healthCheck.Target).toBe('SSL:30443');
  });

  test('UDP ports and a second certificate are refused', async () => {
    const annotations = { 'ssl-cert': `${acmCertificate},${otherCertificate}` };
    const { desired, errors } = await desire(awsMember('classic', { name: 'web', ports: ['dns:53/UDP@30053', ...https], annotations }));
    expect(desired).toBeUndefined();
    expect(codesOf(errors).toSorted()).toEqual(['AwsAnnotationInvalid', 'AwsProtocolUnsupported']);
  });
});

describe('encryption on an NLB', () => {
  test.each([
    [false, undefined, 'TCP', 'TCP'],
    [false, 'ssl', 'TCP', 'TCP'],
    [true, undefined, 'TLS', 'TCP'],
    [true, 'tcp', 'TLS', 'TCP'],
    [true, 'http', 'TLS', 'TCP'],
    [true, 'ssl', 'TLS', 'TLS'],
  ])('certificate: %s, backend-protocol %s gives listener %s and target protocol %s', async (certificate, backend, listener, target) => {
    const annotations = {
      ...(certificate ? { 'ssl-cert': acmCertificate } : {}),
      ...defined({ 'backend-protocol': backend }),
    };
    const { nlb, warnings } = await desire(awsMember('nlb', { name: 'web', ports: https, annotations }));
    expect(nlb.listeners).toMatchObject([{ port: 443, protocol: listener, certificates: certificate ? [acmCertificate] : [] }]);
    expect(nlb.targetGroups).toMatchObject([{ protocol: target }]);
    expect(codesOf(warnings)).toEqual(
      backend === 'http' ? ['AwsBackendHttpOnNlb'] : !certificate && backend === 'ssl' ? ['AwsCertificateMissing'] : [],
    );
  });

  test('backend-protocol https on a TLS port is refused unless upstream behaviour is configured', async () => {
    const member = awsMember('nlb', {
      name: 'web',
      ports: https,
      annotations: { 'ssl-cert': acmCertificate, 'backend-protocol': 'https' },
    });
    expect(codesOf((await desire(member)).errors)).toEqual(['AwsBackendHttpsOnNlb']);
    const { nlb } = await desire(member, { settings: { ...settings, upstreamBackendHttps: true } });
    expect([nlb.listeners[0]?.protocol, nlb.targetGroups[0]?.protocol]).toEqual(['TLS', 'TCP']);
  });

  test('several certificates are accepted, the first one as default', async () => {
    const { nlb } = await desire(
      awsMember('nlb', { name: 'web', ports: https, annotations: { 'ssl-cert': `${otherCertificate}, ${acmCertificate}` } }),
    );
    expect(nlb.listeners[0]?.certificates).toEqual([otherCertificate, acmCertificate]);
  });

  test('an item of ssl-ports that is no port of the Service is named in the error', async () => {
    const annotations = { 'ssl-cert': acmCertificate, 'ssl-ports': 'https, 9443, dns' };
    const { errors } = await desire(awsMember('nlb', { name: 'web', ports: [...https, 'dns:53/UDP@30053'], annotations }));
    expect(errors).toMatchObject([
      { code: 'AwsSslPortUnknown', details: { port: '9443' } },
      { code: 'AwsSslPortUnknown', details: { port: 'dns' } },
    ]);
  });

  test('TCP and UDP of one port are joined unless TLS is set or their NodePorts differ', async () => {
    const both = ['u:53/UDP@30053', 't:53/TCP@30053'];
    const { nlb } = await desire(awsMember('nlb', { name: 'dns', ports: both }));
    expect(nlb.listeners).toMatchObject([{ port: 53, protocol: 'TCP_UDP' }]);
    expect(nlb.targetGroups).toMatchObject([{ protocol: 'TCP_UDP', port: 30_053 }]);
    const encrypted = awsMember('nlb', { name: 'dns', ports: both, annotations: { 'ssl-cert': acmCertificate, 'ssl-ports': 't' } });
    expect(codesOf((await desire(encrypted)).errors)).toEqual(['AwsPortsCollide']);
    for (const selected of [{}, { 'ssl-ports': '*' }, { 'backend-protocol': 'ssl' }]) {
      const all = awsMember('nlb', { name: 'dns', ports: both, annotations: { 'ssl-cert': acmCertificate, ...selected } });
      expect(codesOf((await desire(all)).errors)).toEqual(['AwsPortsCollide']);
    }
    const beside = awsMember('nlb', {
      name: 'dns',
      ports: [...both, ...https],
      annotations: { 'ssl-cert': acmCertificate, 'ssl-ports': '443' },
    });
    expect((await desire(beside)).nlb.listeners.map(({ protocol }) => protocol)).toEqual(['TCP_UDP', 'TLS']);
    const split = (annotations: Record<string, string>): Member => {
      const one = awsMember('nlb', { name: 'dns', ports: both, annotations });
      const ports = one.service.ports.map((port, index) => ({ ...port, targetPort: 5353 + index }));
      return { ...one, service: { ...one.service, ports } };
    };
    expect((await desire(split({}))).nlb.listeners).toMatchObject([{ port: 53, protocol: 'TCP_UDP' }]);
    expect(codesOf((await desire(split({ 'nlb-target-type': 'ip' }))).errors)).toEqual(['AwsPortsCollide']);
    const apart = awsMember('nlb', { name: 'dns', ports: ['u:53/UDP@30053', 't:53/TCP@30054'] });
    expect(codesOf((await desire(apart)).errors)).toEqual(['AwsPortsCollide']);
  });
});

test.each(['nlb', 'classic'] as const)('a Service without a certificate is warned about annotations without effect: %s', async (kind) => {
  const annotations = { 'ssl-ports': '443', 'ssl-negotiation-policy': 'ELBSecurityPolicy-2016-08', 'backend-protocol': 'ssl' };
  const { warnings } = await desire(awsMember(kind, { name: 'web', ports: https, annotations }));
  const keys = ['ssl-ports', 'ssl-negotiation-policy', 'backend-protocol'];
  const details = { keys: keys.map((key) => `service.beta.kubernetes.io/aws-load-balancer-${key}`).join(', ') };
  expect(warnings).toEqual([{ code: 'AwsCertificateMissing', details }]);
  const encrypted = { ...annotations, 'ssl-cert': acmCertificate };
  expect((await desire(awsMember(kind, { name: 'web', ports: https, annotations: encrypted }))).warnings).toEqual([]);
});

describe('certificate discovery by host name', () => {
  const member = (hosts: string): ReturnType<typeof awsMember> =>
    awsMember('nlb', { name: 'web', ports: https, annotations: { 'herald.dev/aws-certificate-hosts': hosts } });
  const discovering = { settings: { ...settings, certificateDiscovery: true } };

  test('certificates match by name and by wildcard, and are used once each', async () => {
    const { nlb } = await desire(member('www.example.com, a.example.org, b.example.org'), discovering);
    expect(nlb.listeners[0]?.certificates).toEqual([acmCertificate, otherCertificate]);
  });

  test.each(['example.org', 'a.b.example.org', 'www.example.net'])('no certificate is found for %s', async (host) => {
    expect((await desire(member(host), discovering)).errors).toMatchObject([{ code: 'AwsCertificateNotFound', details: { host } }]);
  });

  test('discovery is refused unless it is switched on', async () => {
    expect(codesOf((await desire(member('www.example.com'))).errors)).toEqual(['AwsCertificateDiscoveryOff']);
  });
});
