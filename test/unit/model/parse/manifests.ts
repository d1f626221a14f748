/** The smallest valid manifests. Tests modify them. */
export const service = (spec: object = {}, metadata: object = {}): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', ...metadata },
  spec: { clusterIP: '10.96.0.10', ports: [{ port: 80 }], ...spec },
});

export const slice = (body: object = {}): Record<string, unknown> => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints: [{ addresses: ['10.244.0.5'] }],
  ...body,
});

export const ours = (kind: string, spec: object, name = 'main'): Record<string, unknown> => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
