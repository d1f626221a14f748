import type { Operation } from '../cloud/operations.ts';
import type { Rate } from './token-bucket.ts';

/** Requests that AWS counts together: those of one service and one kind. */
export type RequestClass = `${'elb' | 'elbv2' | 'ec2' | 'acm'}:${'read' | 'write' | 'create' | 'register'}`;

/**
 * AWS' documented limits per account and Region (request throttling of Elastic Load Balancing and of EC2). NLBs and Classic ELBs have
 * separate buckets. Other programs in the account use the same buckets, so AWS may still throttle Herald. Then the bucket is emptied
 * (TokenBucket.drain) and all requests of the class slow down.
 */
const elb = {
  read: { burst: 40, perSecond: 10 },
  write: { burst: 20, perSecond: 3 },
  register: { burst: 20, perSecond: 4 },
  // AWS documents no figures for expensive operations. These are half of those for writes.
  create: { burst: 10, perSecond: 1.5 },
};
const ec2 = {
  read: { burst: 50, perSecond: 10 },
  write: { burst: 25, perSecond: 5 },
};
/** DescribeCertificate: 10 per second. ListCertificates: 8 per second. */
const acm = { burst: 10, perSecond: 5 };

export const rates: Readonly<Partial<Record<RequestClass, Rate>>> = {
  'elbv2:read': elb.read,
  'elbv2:write': elb.write,
  'elbv2:register': elb.register,
  'elbv2:create': elb.create,
  'elb:read': elb.read,
  'elb:write': elb.write,
  'elb:register': elb.register,
  'elb:create': elb.create,
  'ec2:read': ec2.read,
  'ec2:write': ec2.write,
  'ec2:create': ec2.write,
  'acm:read': acm,
};

export function classOf(operation: Operation): RequestClass {
  const [service = '', name = ''] = operation.split(':');
  return `${service}:${kindOf(name)}` as RequestClass;
}

function kindOf(name: string): 'read' | 'write' | 'create' | 'register' {
  if (/^(?:Describe|List)/.test(name)) return 'read';
  if (/^(?:Register|Deregister)/.test(name)) return 'register';
  return name.startsWith('Create') ? 'create' : 'write';
}
