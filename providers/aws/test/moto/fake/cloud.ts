import assert from 'node:assert';
import type { Cloud } from '../../../cloud/cloud.ts';
import { isWrite, type Input, type Operation, type Output } from '../../../cloud/operations.ts';
import { AwsError, type AwsErrorCode } from '../../../cloud/error.ts';
import type { IamPolicy } from '../../../tables/command/iam-policy.ts';
import { acmHandlers } from './acm.ts';
import { ec2Handlers } from './ec2.ts';
import { elbHandlers } from './elb.ts';
import { endpointServiceHandlers } from './endpoint-services.ts';
import { authorize } from './iam.ts';
import { listenerHandlers } from './listeners.ts';
import { loadBalancerHandlers } from './load-balancers.ts';
import { refusalError, type Refusal } from './refusals.ts';
import { targetGroupHandlers } from './target-groups.ts';
import { World } from './world.ts';

export type Handler<O extends Operation> = (world: World, input: Input<O>) => Output<O>;
export type Handlers = { readonly [O in Operation]: Handler<O> };

const handlers: Handlers = {
  ...loadBalancerHandlers,
  ...listenerHandlers,
  ...targetGroupHandlers,
  ...elbHandlers,
  ...ec2Handlers,
  ...endpointServiceHandlers,
  ...acmHandlers,
};

/** How a call fails: an error without effect, a refusal of AWS, a lost answer after the effect, or a crash of the process. */
export type Fault =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'error'; readonly code: AwsErrorCode }
  | { readonly kind: 'lost' }
  | { readonly kind: 'crash'; readonly when: 'before' | 'after' };

/** Returns the answer to an ignored creation: the ids of resources that do not exist. */
function ignoredOutput(input: unknown): object {
  const { Name = '', Port = 0 } = input as { readonly Name?: string; readonly Port?: number };
  const arnOf = (kind: string): string => `arn:aws:elasticloadbalancing:us-east-1:123456789012:${kind}/ignored-${Name}-${Port}/1`;
  return {
    LoadBalancers: [{ LoadBalancerArn: arnOf('loadbalancer/net') }],
    TargetGroups: [{ TargetGroupArn: arnOf('targetgroup') }],
    Listeners: [{ ListenerArn: arnOf('listener/net') }],
    DNSName: 'ignored.elb.amazonaws.com',
    GroupId: 'sg-ignored',
    ServiceConfiguration: { ServiceId: 'vpce-svc-0' },
  };
}

/** Copies an input or an output, which consist of plain objects, lists, texts, numbers and booleans. structuredClone takes six times as long. */
function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  assert(Object.getPrototypeOf(value) === Object.prototype, 'AWS takes and gives plain data only');
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copy[key] = copyOf((value as Record<string, unknown>)[key]);
  return copy as T;
}

export class Crash extends Error {}

export interface Call {
  readonly operation: Operation;
  readonly input: unknown;
}

/**
 * An in-process AWS that is stricter than any emulator. It refuses what AWS refuses, and operations that take time do so on a virtual
 * clock. `fault` is called with each call and its number, and may make the call fail.
 */
export class FakeCloud implements Cloud {
  readonly world: World;
  /** All calls, including failed ones. */
  readonly calls: Call[] = [];
  fault: (call: Call, number: number) => Fault | undefined = () => undefined;
  /** True: writes succeed and change nothing, as if another program undid them at once. Deletions are effective. */
  ignoresWrites = false;
  /** The rights of the caller. Absent: every call is allowed. */
  policy: IamPolicy | undefined;
  /** Awaited before and after each call, so that concurrent calls can arrive in any order. */
  latency: () => Promise<unknown> = () => Promise.resolve();

  constructor(world = new World()) {
    this.world = world;
  }

  get writes(): Call[] {
    return this.calls.filter(({ operation }) => isWrite(operation));
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    const call = { operation, input: copyOf<unknown>(input) };
    await this.latency();
    const fault = this.fault(call, this.calls.push(call));
    if (fault?.kind === 'error')
      throw new AwsError({
        code: fault.code,
        operation,
        awsCode: `Fake.${fault.code}`,
        requestId: `fault-${this.calls.length}`,
        message: fault.code,
      });
    if (fault?.kind === 'refused') throw refusalError(fault.refusal);
    if (fault?.kind === 'crash' && fault.when === 'before') throw new Crash(operation);
    if (this.policy !== undefined) authorize(this.policy, this.world, operation, input);
    const handler = handlers[operation] as Handler<O>;
    const isIgnored = this.ignoresWrites && isWrite(operation) && !/:(?:Delete|Deregister)/.test(operation);
    const output = isIgnored ? (ignoredOutput(input) as Output<O>) : copyOf(handler(this.world, call.input as Input<O>));
    await this.latency();
    if (fault?.kind === 'crash') throw new Crash(operation);
    if (fault?.kind === 'lost') throw new AwsError({ code: 'unreachable', operation, awsCode: '', requestId: '', message: 'no answer' });
    return output;
  }
}
