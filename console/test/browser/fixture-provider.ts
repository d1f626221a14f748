import {
  reason,
  type Claim,
  type OutsideResource,
  type Preview,
  type Previewable,
  type Provider,
  type Reconciliation,
  type Released,
  type Service,
  type ServiceKey,
} from '../../../src/controller/provider-module.ts';

/** A provider whose load balancers exist already: one for each Service of its class. Some targets of "broken" are unhealthy. */
class FixtureProvider implements Provider, Previewable {
  readonly name = 'fixture';

  claim({ type, loadBalancerClass: theirs = '' }: Service): Claim {
    if (type === 'LoadBalancer' && theirs === 'example.com/fixture') return { mine: true };
    return { mine: false, reason: reason('OtherLoadBalancerClass', { class: theirs, ours: 'example.com/fixture' }) };
  }

  async reconcile({ ingress }: Service): Promise<Reconciliation> {
    return { ingress };
  }

  async release(): Promise<Released> {
    return {};
  }

  async preview(key: ServiceKey): Promise<Preview> {
    return { observed: [], desired: [], actions: [], waits: [], reasons: [], resources: resourcesOf(key) };
  }
}

export function createProvider(): Provider {
  return new FixtureProvider();
}

const refused = 'unhealthy: Health checks failed with these codes: [503]';

function resourcesOf(key: ServiceKey): OutsideResource[] {
  const name = key.slice(key.indexOf('/') + 1);
  const isBroken = name === 'broken';
  const [health, why] = isBroken ? (['bad', { why: 'none of its 2 targets is healthy' }] as const) : (['good', {}] as const);
  const target = (id: string): OutsideResource => ({
    id: `${name} ${id}`,
    kind: 'target',
    name: `${id} port 30080`,
    detail: '',
    health,
    ...(isBroken ? { why: refused } : {}),
    to: [],
  });
  return [
    { id: name, kind: 'loadBalancer', name: `${name}-nlb`, detail: 'NLB', health, ...why, to: [`${name} 443`] },
    { id: `${name} 443`, kind: 'listener', name: 'TLS 443', detail: '', health, ...why, to: [`${name} group`] },
    {
      id: `${name} group`,
      kind: 'targetGroup',
      name: `${name}-group`,
      detail: 'TCP 30080, instance',
      health,
      ...why,
      to: [`${name} i-1`, `${name} i-2`],
    },
    target('i-1'),
    target('i-2'),
  ];
}
