import { addBuiltInProviders } from '../../../support/built-in-providers.ts';
import { describe, expect, test } from 'vitest';
import { leadOfLoadBalancer, withLead } from '../../../../src/decisions/verdict/verdict-text.ts';
import { reason } from '../../../../src/model/reasons.ts';

addBuiltInProviders();

const exists = 'Its load balancer exists, but not as it asks';
const unseen = 'Not known whether its load balancer is as it asks';

describe('the verdict on a load balancer of a provider', () => {
  const refused = (operation: string) =>
    reason('AwsRefused', { operation, kind: 'denied', awsCode: 'AccessDenied', message: 'no', requestId: '' });
  test.each([
    ['a mistake in an annotation', reason('AwsAnnotationInvalid', { key: 'a', problem: 'is wrong' }), exists],
    ['a refused change', refused('elbv2:CreateListener'), exists],
    ['a refused read', refused('elbv2:DescribeListeners'), unseen],
    ['a controller without AWS', reason('AwsSwitchedOff', { finalizer: '' }), unseen],
    ['an unknown place', reason('AwsPlaceUnknown', { message: 'which VPC?' }), unseen],
  ])('says whether Herald has seen it: %s', (_, because, lead) => {
    expect(leadOfLoadBalancer(because)).toBe(lead);
  });

  test('keeps the lead of a recorded line, and gives one to a record of an earlier version', () => {
    for (const line of [`${unseen}: x.`, `${exists}: x.`, 'Not served: x.']) expect(withLead(line, true)).toBe(line);
    expect([withLead('x', true), withLead('x', false)]).toEqual([`${exists}: x`, 'Not served: x']);
  });
});
