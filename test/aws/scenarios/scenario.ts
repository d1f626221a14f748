import { expect } from 'vitest';
import type { ScenarioFixture } from './scenario-fixture.ts';
import { readAccountState, type NlbState, type AccountState } from './account-state.ts';

/** What the provider makes of Services, told by what then stands in AWS. The same list runs against the fake and against the emulator. */
export interface Scenario {
  readonly name: string;
  readonly run: (bench: ScenarioFixture) => Promise<void>;
}

const prefix = 'service.beta.kubernetes.io/aws-load-balancer-';

interface ServiceOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

/** A Service for an NLB. Annotations without a "/" are AWS'. */
export function service(name: string, ports: readonly object[], { annotations = {}, spec = {} }: ServiceOptions = {}) {
  const keyed = Object.entries(annotations).map(([key, value]) => [key.includes('/') ? key : `${prefix}${key}`, value]);
  return {
    metadata: { name, annotations: Object.fromEntries(keyed) as Record<string, string> },
    spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', ports, ...spec },
  };
}

export const classic = { loadBalancerClass: 'herald.dev/aws-classic' };
export const http = { name: 'http', port: 80, targetPort: 8080, nodePort: 30_080, protocol: 'TCP' };
export const https = { name: 'https', port: 443, targetPort: 8443, nodePort: 30_443, protocol: 'TCP' };
export const dnsUdp = { name: 'udp', port: 53, targetPort: 5353, nodePort: 30_053, protocol: 'UDP' };
export const dnsTcp = { name: 'tcp', port: 53, targetPort: 5353, nodePort: 30_053, protocol: 'TCP' };

export const accountState = (bench: ScenarioFixture): Promise<AccountState> => readAccountState(bench.cloud, bench.account.vpcId);

export async function onlyNlb(bench: ScenarioFixture): Promise<NlbState> {
  const { nlbs } = await accountState(bench);
  expect(nlbs).toHaveLength(1);
  return nlbs[0] as NlbState;
}

export const nodeTargets = (bench: ScenarioFixture, port: number): string[] =>
  bench.account.nodes.map(({ instance }) => `${instance}:${port}`).toSorted();

/** Rules of the security groups that load balancers of Services have, without the one of the cluster. */
export function clientRules({ securityGroups }: AccountState): readonly string[] {
  return Object.entries(securityGroups).flatMap(([name, rules]) => (name.startsWith('herald-backend-') ? [] : rules));
}

export const nothing = { nlbs: [], looseTargetGroups: [], classic: [] };

/** A pass that comes much later finds nothing to do. */
export async function expectStable(bench: ScenarioFixture): Promise<void> {
  bench.takeWrites();
  await bench.settle();
  expect(bench.takeWrites()).toEqual([]);
}
