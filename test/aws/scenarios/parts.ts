import { expect } from 'vitest';
import type { Bench } from './bench.ts';
import { takePicture, type NlbPicture, type Picture } from './picture.ts';

/** What the provider makes of Services, told by what then stands in AWS. The same list runs against the fake and against the emulator. */
export interface Scenario {
  readonly name: string;
  readonly run: (bench: Bench) => Promise<void>;
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

export const look = (bench: Bench): Promise<Picture> => takePicture(bench.cloud, bench.account.vpcId);

export async function onlyNlb(bench: Bench): Promise<NlbPicture> {
  const { nlbs } = await look(bench);
  expect(nlbs).toHaveLength(1);
  return nlbs[0] as NlbPicture;
}

export const nodeTargets = (bench: Bench, port: number): string[] =>
  bench.account.nodes.map(({ instance }) => `${instance}:${port}`).toSorted();

/** Rules of the security groups that load balancers of Services have, without the one of the cluster. */
export function clientRules({ securityGroups }: Picture): readonly string[] {
  return Object.entries(securityGroups).flatMap(([name, rules]) => (name.startsWith('herald-backend-') ? [] : rules));
}

export const nothing = { nlbs: [], looseTargetGroups: [], classic: [] };

/** A pass that comes much later finds nothing to do. */
export async function expectStable(bench: Bench): Promise<void> {
  bench.takeWrites();
  await bench.settle();
  expect(bench.takeWrites()).toEqual([]);
}
