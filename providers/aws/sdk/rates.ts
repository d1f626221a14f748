import type { Operation } from '../cloud/operations.ts';
import type { Rate } from './token-bucket.ts';

/** Requests that start at the same rate: those of one service and one kind. */
type RequestClass = `${'elb' | 'elbv2' | 'ec2' | 'acm'}:${'read' | 'write' | 'create' | 'register'}`;

/**
 * The rate at which each action starts: the size of the bucket that AWS documents for it (request throttling of Elastic Load Balancing and
 * of EC2), each second. That is more than AWS allows for long, and AWS says so: its answers halve the rate (TokenBucket). What AWS allows
 * differs from account to account, and other programs in the account use the same buckets.
 */
const elb = { read: 40, write: 20, register: 20 };
const ec2 = { read: 50, write: 25 };
/** DescribeCertificate: 10 per second. ListCertificates: 8 per second. */
const acm = 8;

const bursts: Readonly<Partial<Record<RequestClass, number>>> = {
  'elbv2:read': elb.read,
  'elbv2:write': elb.write,
  'elbv2:register': elb.register,
  // AWS documents no figures for expensive operations. Herald starts as with other writes.
  'elbv2:create': elb.write,
  'elb:read': elb.read,
  'elb:write': elb.write,
  'elb:register': elb.register,
  'elb:create': elb.write,
  'ec2:read': ec2.read,
  'ec2:write': ec2.write,
  'ec2:create': ec2.write,
  'acm:read': acm,
};

/** Returns the rate at which requests of this action start. */
export function firstRate(operation: Operation): Rate {
  const burst = bursts[classOf(operation)];
  if (burst === undefined) throw new Error(`${operation} has no rate`);
  return { burst, perSecond: burst };
}

function classOf(operation: Operation): RequestClass {
  const [service = '', name = ''] = operation.split(':');
  return `${service}:${kindOf(name)}` as RequestClass;
}

function kindOf(name: string): 'read' | 'write' | 'create' | 'register' {
  if (/^(?:Describe|List)/.test(name)) return 'read';
  if (/^(?:Register|Deregister)/.test(name)) return 'register';
  return name.startsWith('Create') ? 'create' : 'write';
}
