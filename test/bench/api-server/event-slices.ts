export const eventLabel = 'bench=events';

/** Returns an EndpointSlice of ten endpoints, as Kubernetes makes it for a Service of a Helm chart. */
export function eventSlice(index: number): object {
  const endpoint = (n: number): object => ({
    addresses: [`10.${index}.${n}.17`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `ip-10-0-${(index * 7 + n * 13) % 250}-${n}.eu-central-1.compute.internal`,
    zone: `eu-central-1${'abc'[n % 3]}`,
    targetRef: {
      kind: 'Pod',
      namespace: 'default',
      name: `web-${index}-5d8f7c9b6d-x7k2${n}`,
      uid: `0f5fc2a0-0000-4000-8000-${String(index).padStart(12, '0')}`,
    },
  });
  return {
    metadata: {
      name: `web-${index}-x7k2p`,
      labels: {
        bench: 'events',
        'kubernetes.io/service-name': `web-${index}`,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'app.kubernetes.io/name': 'web',
        'app.kubernetes.io/instance': `web-${index}`,
        'app.kubernetes.io/managed-by': 'Helm',
      },
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-02T03:04:05Z' },
    },
    addressType: 'IPv4',
    ports: [
      { name: 'http', port: 8080, protocol: 'TCP' },
      { name: 'metrics', port: 9090, protocol: 'TCP' },
    ],
    endpoints: Array.from({ length: 10 }, (_, n) => endpoint(n)),
  };
}
