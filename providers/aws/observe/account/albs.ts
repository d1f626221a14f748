import type { AnnotationValues } from '../../annotations/table.ts';
import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import type { LoadBalancer } from '../../cloud/elbv2.ts';
import type { AlbFact, AlbFacts } from '../../model/targets/alb.ts';
import { unlessUnknown } from '../tolerate-missing.ts';

/** Returns the names and ARNs of the ALBs that Services use as targets, each once. */
export function namedAlbs(members: readonly { readonly values: AnnotationValues }[]): string[] {
  const named = members.flatMap(({ values }) => [
    ...(values.albTarget === undefined ? [] : [values.albTarget]),
    ...values.albTargetOfPort.values(),
  ]);
  return [...new Set(named)].toSorted();
}

/** Reads the ALBs with their listeners. Resolves to undefined without a call if none is named. */
export async function observeAlbs(cloud: ReadOnlyCloud, named: readonly string[]): Promise<AlbFacts | undefined> {
  if (named.length === 0) return undefined;
  const facts = new Map<string, AlbFact>();
  for (const text of named) {
    const found = await unlessUnknown(() => describe(cloud, text));
    if (found === undefined) continue;
    const { LoadBalancerArn, LoadBalancerName, VpcId, Type } = found;
    const listeners = await unlessUnknown(async () => (await cloud.call('elbv2:DescribeListeners', { LoadBalancerArn })).Listeners);
    facts.set(text, {
      arn: LoadBalancerArn,
      name: LoadBalancerName,
      vpcId: VpcId,
      type: Type,
      listeners: (listeners ?? []).map(({ Port, Protocol }) => ({ port: Port, protocol: Protocol })),
    });
  }
  return facts;
}

async function describe(cloud: ReadOnlyCloud, text: string): Promise<LoadBalancer | undefined> {
  const { LoadBalancers } = await cloud.call(
    'elbv2:DescribeLoadBalancers',
    text.startsWith('arn:') ? { LoadBalancerArns: [text] } : { Names: [text] },
  );
  return LoadBalancers[0];
}
