import type { Account } from '../../test/moto/account.ts';
import type { ServiceForm } from '../stage.ts';

/** The prefix of the annotations that both controllers read. */
const prefix = 'service.beta.kubernetes.io/aws-load-balancer-';

interface Port {
  readonly port: number;
  readonly protocol?: 'UDP';
}

/** The Services of which both controllers make load balancers: one for each feature that both have. */
export function formsToCompare({ certificates, elasticIps, publicSubnets, nodeGroup }: Account): ServiceForm[] {
  const web: readonly Port[] = [{ port: 80 }];
  const tls = { 'ssl-cert': certificates.web, 'ssl-ports': '443' };
  const both: readonly Port[] = [{ port: 80 }, { port: 443 }];
  const health = {
    'healthcheck-protocol': 'http',
    'healthcheck-path': '/healthz',
    'healthcheck-port': '8080',
    'healthcheck-interval': '20',
  };
  let last = 30_000;
  /** NodePorts are fixed, so that targets can be compared. TCP and UDP on one port have one, because AWS can make no listener otherwise. */
  const form = (
    name: string,
    ports: readonly Port[],
    annotations: Readonly<Record<string, string>> = {},
    spec: object = {},
  ): ServiceForm => {
    last += 100;
    const written = ports.map(({ port, protocol = 'TCP' }) => {
      return { name: `${protocol}-${port}`.toLowerCase(), port, protocol, nodePort: last + (port % 100) };
    });
    const prefixed = Object.entries(annotations).map(([key, value]) => [`${prefix}${key}`, value]);
    return { name, annotations: Object.fromEntries(prefixed) as Record<string, string>, spec: { ...spec, ports: written } };
  };
  return [
    form('plain', web),
    form('two-ports', both),
    form('udp', [{ port: 53, protocol: 'UDP' }]),
    form('tcp-and-udp', [{ port: 53 }, { port: 53, protocol: 'UDP' }]),
    form('public', web, { scheme: 'internet-facing' }),
    form('named', web, { name: 'a-name' }),
    form('tls', both, tls),
    form('tls-policy', both, { ...tls, 'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS-1-2-2017-01', 'alpn-policy': 'HTTP2Preferred' }),
    form('tls-to-pods', both, { ...tls, 'backend-protocol': 'ssl' }),
    form('more-certificates', both, { ...tls, 'ssl-cert': `${certificates.web},${certificates.other}` }),
    form('source-ranges', web, {}, { loadBalancerSourceRanges: ['10.0.0.0/8', '192.0.2.0/24'] }),
    form('policy-local', web, {}, { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 }),
    form('health-check', web, { ...health, 'healthcheck-healthy-threshold': '2', 'healthcheck-unhealthy-threshold': '4' }),
    form('attributes', web, {
      attributes: 'load_balancing.cross_zone.enabled=true,dns_record.client_routing_policy=availability_zone_affinity',
    }),
    form('target-attributes', web, {
      'target-group-attributes': 'preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=60',
    }),
    form('sticky', web, { 'target-group-attributes': 'stickiness.enabled=true,stickiness.type=source_ip' }),
    form('proxy-protocol', web, { 'proxy-protocol': '*' }),
    form('tags', web, { 'additional-resource-tags': 'team=edge,stage=test' }),
    form('elastic-ips', web, { scheme: 'internet-facing', 'eip-allocations': elasticIps.join(','), subnets: publicSubnets.join(',') }),
    form('one-subnet', web, { scheme: 'internet-facing', subnets: publicSubnets[0] ?? '' }),
    form('own-group', web, { 'security-groups': nodeGroup }),
    form('node-labels', web, { 'target-node-labels': 'topology.kubernetes.io/zone=us-east-1a' }),
  ];
}
