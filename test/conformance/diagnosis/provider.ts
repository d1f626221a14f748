import { parseAddress, reason, type Claim, type Provider, type Reconciliation, type Released, type Service } from 'herald/provider';

const loadBalancerClass = 'example.com/tested';

/** Refuses UDP, and waits while the Service has the annotation example.com/made: "no". */
export function createProvider(): Provider {
  const because = (code: 'ProviderRefused' | 'ProviderWaits', problem: string): Reconciliation => ({
    ingress: [],
    reason: reason(code, { provider: 'tested', problem }),
  });
  return {
    name: 'tested',
    claim: ({ loadBalancerClass: theirs = '' }): Claim =>
      theirs === loadBalancerClass
        ? { mine: true }
        : { mine: false, reason: reason('OtherLoadBalancerClass', { class: theirs, ours: loadBalancerClass }) },
    async reconcile({ ports, metadata }: Service): Promise<Reconciliation> {
      const udp = ports.find(({ protocol }) => protocol === 'UDP');
      if (udp !== undefined) return because('ProviderRefused', `it has no UDP, which port ${udp.port} asks for`);
      if (metadata.annotations['example.com/made'] === 'no') return because('ProviderWaits', 'its load balancer is being made');
      const address = parseAddress('203.0.113.1');
      return { ingress: address.ok ? [{ address: address.value, ipMode: 'VIP' }] : [] };
    },
    release: async (): Promise<Released> => ({}),
  };
}
