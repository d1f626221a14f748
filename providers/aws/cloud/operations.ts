import type { AcmOperations } from './acm.ts';
import type { Ec2Operations } from './ec2.ts';
import type { ElbOperations } from './elb.ts';
import type { Elbv2Operations } from './elbv2.ts';

type Of<Prefix extends string, Operations> = { [Name in keyof Operations & string as `${Prefix}:${Name}`]: Operations[Name] };

/** All AWS calls that Herald makes, keyed by names such as "elbv2:CreateListener", with their input and output types. */
type Operations = Of<'elbv2', Elbv2Operations> & Of<'elb', ElbOperations> & Of<'ec2', Ec2Operations> & Of<'acm', AcmOperations>;

export type Operation = keyof Operations;
export type Input<O extends Operation> = Operations[O]['input'];
export type Output<O extends Operation> = Operations[O]['output'];

export type ReadOperation = Extract<Operation, `${string}:${'Describe' | 'List'}${string}`>;
/** The calls that change something. A plan consists of these. */
export type WriteOperation = Exclude<Operation, ReadOperation>;

export function isWrite(operation: Operation): operation is WriteOperation {
  return !/:(?:Describe|List)/.test(operation);
}
