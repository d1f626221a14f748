import type { ClusterPlan } from '../description.ts';
import { valuesOf } from '../description.ts';

const ports = [
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53, protocol: 'TCP' },
];

/** Returns the Service kube-dns and its endpoints, which are the server at the ToR (server.ts). */
export function dnsObjects({ families, tor, dnsService }: ClusterPlan): readonly object[] {
  const clusterIPs = valuesOf(dnsService);
  const names = { ipv4: 'IPv4', ipv6: 'IPv6' } as const;
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'CoreDNS' } },
      spec: {
        clusterIP: clusterIPs[0],
        clusterIPs,
        ipFamilies: families.map((family) => names[family]),
        ipFamilyPolicy: families.length > 1 ? 'RequireDualStack' : 'SingleStack',
        ports,
      },
    },
    ...families.map((family) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `kube-dns-tor-${family}`,
        namespace: 'kube-system',
        labels: { 'kubernetes.io/service-name': 'kube-dns', 'endpointslice.kubernetes.io/managed-by': 'herald-tests' },
      },
      addressType: names[family],
      endpoints: [{ addresses: [tor[family]], conditions: { ready: true } }],
      ports,
    })),
  ];
}
