import { expect } from 'vitest';
import type { ScenarioFixture } from './scenario-fixture.ts';
import { readAccountState, type NlbState, type AccountState } from './account-state.ts';

/** A Service, and the AWS resources that the provider makes of it. The same scenarios run against the fake and against the emulator. */
export interface Scenario {
  readonly name: string;
  readonly run: (fixture: ScenarioFixture) => Promise<void>;
}

const prefix = 'service.beta.kubernetes.io/aws-load-balancer-';

interface ServiceOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

/** A Service with an NLB. Annotation keys without "/" get AWS' prefix. */
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

export const accountState = (fixture: ScenarioFixture): Promise<AccountState> => readAccountState(fixture.cloud, fixture.account.vpcId);

export async function onlyNlb(fixture: ScenarioFixture): Promise<NlbState> {
  const { nlbs } = await accountState(fixture);
  expect(nlbs).toHaveLength(1);
  return nlbs[0] as NlbState;
}

export const nodeTargets = (fixture: ScenarioFixture, port: number): string[] =>
  fixture.account.nodes.map(({ instance }) => `${instance}:${port}`).toSorted();

/** The rules of the Services' security groups, without those of the shared one. */
export function clientRules({ securityGroups }: AccountState): readonly string[] {
  return Object.entries(securityGroups).flatMap(([name, rules]) => (name.startsWith('herald-backend-') ? [] : rules));
}

export const nothing = { nlbs: [], looseTargetGroups: [], classic: [] };

/** Checks that a later reconcile changes nothing. */
export async function expectStable(fixture: ScenarioFixture): Promise<void> {
  fixture.takeWrites();
  await fixture.settle();
  expect(fixture.takeWrites()).toEqual([]);
}
