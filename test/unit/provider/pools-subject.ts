import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { decideAwsClaim } from '../../../providers/aws/desire/claim.ts';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import type { Provider } from '../../../src/controller/provider-module.ts';
import type { ProviderSubject } from '../../../src/controller/provider-testing/index.ts';

addBuiltInProviders();

/** The manifest of a Service of the class. */
export const service = (loadBalancerClass: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name: 'web' },
  spec: { type: 'LoadBalancer', loadBalancerClass, clusterIPs: ['10.96.0.1'], ports: [{ name: 'http', port: 80, nodePort: 30080 }] },
});

const aws: Pick<Provider, 'name' | 'claim'> = {
  name: 'aws',
  claim: (one, { config }) => decideAwsClaim(one, config, { classless: 'classic' }),
};
/** The provider of pools for the checks of the provider contract. */
export const pools: ProviderSubject = {
  parts: ['Recovery', 'ResourceHolder', 'ChangeListener', 'PeriodicWork', 'AddressPools'],
  service: service('herald.dev/herald'),
  objects: [
    { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'main' }, spec: { addresses: ['192.0.2.1-192.0.2.9'] } },
  ],
  beside: [aws],
  world: () => ({ createProvider: () => new BareMetalProvider() }),
};
