import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import { describe, expect, test } from 'vitest';
import { reasonOfError } from '../../../../providers/aws/cloud/error-reason.ts';
import { AwsError, type AwsErrorCode } from '../../../../providers/aws/cloud/error.ts';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { retryClassOf, Backoff } from '../../../../providers/aws/schedule/backoff.ts';
import { remedyText, reasonText } from '../../../../src/model/reasons.ts';

addBuiltInProviders();

const refused = (code: AwsErrorCode) =>
  reasonOfError(new AwsError({ code, operation: 'elbv2:CreateLoadBalancer', awsCode: 'Code', requestId: 'r-1', message: 'no' }));

describe('a refusal of AWS', () => {
  test.each([
    ['throttled', 'AwsThrottled', 'throttled'],
    ['unreachable', 'AwsCallFailed', 'transient'],
    ['notFound', 'AwsCallFailed', 'transient'],
    ['duplicate', 'AwsCallFailed', 'transient'],
    ['inUse', 'AwsInUse', 'transient'],
    ['credentials', 'AwsCredentials', 'transient'],
    ['place', 'AwsPlaceUnknown', 'transient'],
    ['pods', 'AwsPodsUnreadable', 'transient'],
    ['other', 'AwsCallFailed', 'transient'],
    ['denied', 'AwsRefused', 'permanent'],
    ['protected', 'AwsRefused', 'permanent'],
    ['quota', 'AwsRefused', 'permanent'],
    ['certificate', 'AwsRefused', 'permanent'],
    ['subnet', 'AwsRefused', 'permanent'],
    ['invalid', 'AwsRefused', 'permanent'],
  ] as const)('the error code %s becomes the reason %s, which is %s', (code, reasonCode, retryClass) => {
    const reason = refused(code);
    expect([reason.code, retryClassOf(reason)]).toEqual([reasonCode, retryClass]);
  });

  test("a refusal's reason contains AWS' message and a remedy", () => {
    expect(reasonText(refused('denied'))).toBe('elbv2:CreateLoadBalancer was refused (denied): Code: no (request r-1)');
    expect(remedyText(refused('denied'))).toContain('herald aws iam-policy');
    expect(remedyText(refused('quota'))).toContain('a higher quota');
  });
});

describe('back-off', () => {
  test('the wait doubles up to its limit and starts over after a success', () => {
    const backoff = new Backoff(() => 1);
    const waits = Array.from({ length: 40 }, () => backoff.recordFailure('n/web', 'permanent'));
    expect(waits.slice(0, 6)).toEqual([30, 60, 120, 240, 480, 600]);
    expect(Math.max(...waits)).toBe(limits.permanentRetryMaximumSeconds);
    expect(backoff.failuresOf('n/web')).toBe(40);
    backoff.forgetFailures('n/web');
    expect(backoff.recordFailure('n/web', 'transient')).toBe(limits.transientRetrySeconds);
  });

  test('up to half of each wait is random', () => {
    const [least, most] = [new Backoff(() => 0), new Backoff(() => 1)];
    for (const retryClass of ['transient', 'throttled', 'permanent'] as const) {
      for (let time = 0; time < 10; time++) {
        expect(least.recordFailure('n/web', retryClass)).toBe(most.recordFailure('n/web', retryClass) / 2);
      }
    }
    expect(least.recordFailure('n/other', 'transient')).toBe(limits.transientRetrySeconds / 2);
  });
});
