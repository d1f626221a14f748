import { describe, expect, test } from 'vitest';
import type { AwsErrorCode } from '../../../../providers/aws/cloud/error.ts';
import type { Operation } from '../../../../providers/aws/cloud/operations.ts';
import { classify, wasNotSent } from '../../../../providers/aws/sdk/classify.ts';
import { limits } from '../../../../providers/aws/sdk/limits.ts';

/** An error as the SDK throws it for an answer of AWS. */
function answered(name: string, status = 400): Error {
  return Object.assign(new Error(`about ${name}`), { name, $metadata: { httpStatusCode: status, requestId: 'r-1' } });
}

const answers: readonly [Operation, string, number, AwsErrorCode][] = [
  ['elbv2:DescribeTags', 'Throttling', 400, 'throttled'],
  ['elbv2:DescribeTags', 'ThrottlingException', 400, 'throttled'],
  ['ec2:DescribeSubnets', 'RequestLimitExceeded', 503, 'throttled'],
  ['acm:ListCertificates', 'TooManyRequestsException', 429, 'throttled'],
  ['ec2:DescribeSubnets', 'Unavailable', 503, 'unreachable'],
  ['elb:DescribeTags', 'SomethingNew', 500, 'unreachable'],
  ['ec2:DescribeSubnets', 'AuthFailure', 401, 'credentials'],
  ['elbv2:DescribeTags', 'ExpiredToken', 403, 'credentials'],
  ['elbv2:CreateListener', 'AccessDenied', 403, 'denied'],
  ['ec2:CreateSecurityGroup', 'UnauthorizedOperation', 403, 'denied'],
  ['elbv2:DescribeLoadBalancers', 'LoadBalancerNotFoundException', 400, 'notFound'],
  ['elb:DescribeLoadBalancers', 'AccessPointNotFoundException', 400, 'notFound'],
  ['ec2:DeleteSecurityGroup', 'InvalidGroup.NotFound', 400, 'notFound'],
  ['ec2:RevokeSecurityGroupIngress', 'InvalidPermission.NotFound', 400, 'notFound'],
  ['elbv2:CreateListener', 'DuplicateListenerException', 400, 'duplicate'],
  ['elb:CreateLoadBalancer', 'DuplicateAccessPointNameException', 400, 'duplicate'],
  ['ec2:AuthorizeSecurityGroupIngress', 'InvalidPermission.Duplicate', 400, 'duplicate'],
  ['elbv2:ModifyCapacityReservation', 'PriorRequestNotCompleteException', 429, 'inUse'],
  ['elbv2:DeleteTargetGroup', 'ResourceInUseException', 400, 'inUse'],
  ['ec2:DeleteSecurityGroup', 'DependencyViolation', 400, 'inUse'],
  ['elbv2:DeleteLoadBalancer', 'OperationNotPermittedException', 400, 'protected'],
  ['elbv2:SetSubnets', 'OperationNotPermittedException', 400, 'invalid'],
  ['elbv2:CreateListener', 'TooManyListenersException', 400, 'quota'],
  ['elb:CreateLoadBalancer', 'TooManyAccessPointsException', 400, 'quota'],
  ['ec2:AuthorizeSecurityGroupIngress', 'RulesPerSecurityGroupLimitExceeded', 400, 'quota'],
  ['elbv2:CreateListener', 'TargetGroupAssociationLimitException', 400, 'quota'],
  ['elbv2:CreateListener', 'CertificateNotFoundException', 400, 'certificate'],
  ['acm:DescribeCertificate', 'ResourceNotFoundException', 400, 'notFound'],
  ['elbv2:CreateLoadBalancer', 'SubnetNotFoundException', 400, 'subnet'],
  ['ec2:DescribeSubnets', 'InvalidSubnetID.NotFound', 400, 'subnet'],
  ['elbv2:RegisterTargets', 'InvalidTargetException', 400, 'invalid'],
  ['elbv2:DeregisterTargets', 'InvalidTargetException', 400, 'notFound'],
  ['elb:RegisterInstancesWithLoadBalancer', 'InvalidEndPointException', 400, 'invalid'],
  ['elb:DeregisterInstancesFromLoadBalancer', 'InvalidEndPointException', 400, 'notFound'],
  ['elbv2:CreateListener', 'ValidationError', 400, 'invalid'],
];

describe('classification of errors', () => {
  test.each(answers)('%s: %s (%i) is %s', (operation, name, status, code) => {
    expect(classify(operation, answered(name, status))).toMatchObject({
      name: 'AwsError',
      code,
      operation,
      awsCode: name,
      requestId: 'r-1',
    });
  });

  test('a failed connection is unreachable, and nothing was sent', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const error = classify('elbv2:CreateListener', refused);
    expect(error).toMatchObject({ code: 'unreachable', awsCode: '', requestId: '' });
    expect(wasNotSent(error)).toBe(true);
    expect(wasNotSent(classify('elbv2:CreateListener', new AggregateError([refused])))).toBe(true);
  });

  test('a lost connection is unreachable, and the request may have arrived', () => {
    for (const thrown of [
      Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }),
      Object.assign(new Error('too long'), { name: 'TimeoutError' }),
      Object.assign(new Error('no XML'), { $response: { statusCode: 502 } }),
    ]) {
      const error = classify('elbv2:CreateListener', thrown);
      expect(error.code).toBe('unreachable');
      expect(wasNotSent(error)).toBe(false);
    }
  });

  test('missing credentials are classified as credentials', () => {
    const thrown = Object.assign(new Error('Could not load credentials from any providers'), { name: 'CredentialsProviderError' });
    expect(classify('ec2:DescribeVpcs', thrown)).toMatchObject({ code: 'credentials', awsCode: '' });
  });

  test('any other error is classified as other, with its cause', () => {
    const cause = new Error('a mistake of ours');
    expect(classify('ec2:DescribeVpcs', cause)).toMatchObject({ code: 'other', cause });
    expect(classify('ec2:DescribeVpcs', 'text').code).toBe('other');
  });

  test("the message starts with the operation, names AWS' code once and is cut off", () => {
    expect(classify('ec2:DescribeVpcs', answered('Strange')).message).toBe('ec2:DescribeVpcs: Strange: about Strange');
    const long = Object.assign(answered('Strange'), { message: 'x'.repeat(10_000) });
    expect(classify('ec2:DescribeVpcs', long).message.length).toBeLessThan(limits.quoted + 50);
  });
});
