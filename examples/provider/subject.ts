import type { Provider, ProviderComponents } from 'herald/provider';
import type { ProviderSubject } from 'herald/provider-testing';
import { MemoryApi } from './memory-api.ts';
import { BalancerProvider } from './provider.ts';

/** Returns the example as a subject of the compliance tests. `make` creates another provider instead. */
export function exampleSubject(
  make: (api: MemoryApi, components: ProviderComponents) => Provider = (api, components) => new BalancerProvider(api, components),
): ProviderSubject {
  return {
    parts: ['Recovery', 'ResourceHolder', 'ChangeListener', 'PeriodicWork'],
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'default', name: 'web' },
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'example.com/balancer',
        clusterIPs: ['10.96.0.1'],
        ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 30080 }],
      },
    },
    objects: [
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'node1' },
        status: { addresses: [{ type: 'InternalIP', address: '10.0.0.11' }] },
      },
    ],
    world: () => {
      const api = new MemoryApi();
      return {
        createProvider: (components) => make(api, components),
        resources: () => [...api.balancers.keys()],
        fail: () => {
          api.fails = true;
          return () => void (api.fails = false);
        },
      };
    },
  };
}
