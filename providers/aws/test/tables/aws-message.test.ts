import { describe, expect, test } from 'vitest';
import { lastingMessage } from '../../../../providers/aws/tables/reasons/message.ts';

describe("AWS' message loses what changes while its cause stays", () => {
  test.each([
    [
      'the operation and the code, which the reason names',
      'elbv2:CreateLoadBalancer: InvalidSubnet: Not enough IP space available in subnet-0a1b2c3d4e5f60718.',
      'Not enough IP space available in subnet-0a1b2c3d4e5f60718.',
    ],
    [
      'the session of a role',
      'User: arn:aws:sts::123456789012:assumed-role/herald/1712345678901 is not authorized to perform: ec2:CreateTags',
      'User: arn:aws:sts::123456789012:assumed-role/herald is not authorized to perform: ec2:CreateTags',
    ],
    [
      'an encoded message',
      'You are not authorized to perform this operation. Encoded authorization failure message: aB3_-x9z',
      'You are not authorized to perform this operation',
    ],
    ['a request id', 'Rate exceeded (Request ID: 0f1e2d3c-1111-2222-3333-444455556666)', 'Rate exceeded'],
    ['times', 'Signature expired: 20260102T030405Z is now earlier than 20260102T031005Z', 'Signature expired: ... is now earlier than ...'],
  ])('%s', (_, message, lasting) => {
    expect(lastingMessage(message, 'elbv2:CreateLoadBalancer', 'InvalidSubnet')).toBe(lasting);
  });
});
