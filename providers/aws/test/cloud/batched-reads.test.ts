import { expect, test } from 'vitest';
import { BatchedReads } from '../../../../providers/aws/cloud/batched-reads.ts';
import type { Cloud } from '../../../../providers/aws/cloud/cloud.ts';
import { AwsError } from '../../../../providers/aws/cloud/error.ts';
import type { Input, Operation, Output } from '../../../../providers/aws/cloud/operations.ts';
import { withUrgency } from '../../../../providers/aws/cloud/urgency.ts';

/** An AWS that knows the tags of all resources but `missing`, and answers when the test says so. */
function slowTags(missing?: string): { cloud: BatchedReads; asked: (readonly string[])[]; answer: () => Promise<void> } {
  const asked: (readonly string[])[] = [];
  const gates: (() => void)[] = [];
  const call = async <O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> => {
    const { ResourceArns } = input as Input<'elbv2:DescribeTags'>;
    asked.push(ResourceArns);
    await new Promise<void>((resolve) => gates.push(resolve));
    if (missing !== undefined && ResourceArns.includes(missing))
      throw new AwsError({ code: 'notFound', operation, awsCode: 'LoadBalancerNotFound', requestId: '', message: missing });
    return { TagDescriptions: ResourceArns.map((ResourceArn) => ({ ResourceArn, Tags: [] })) } as unknown as Output<O>;
  };
  const answer = async (): Promise<void> => {
    gates.shift()?.();
    await new Promise(setImmediate);
  };
  return { cloud: new BatchedReads({ call } satisfies Cloud), asked, answer };
}

const tagsOf = async (cloud: Cloud, ...ResourceArns: string[]): Promise<string[]> =>
  (await cloud.call('elbv2:DescribeTags', { ResourceArns })).TagDescriptions.map(({ ResourceArn }) => ResourceArn);

test('callers that come while a request is on its way share the next ones, of at most 20 resources', async () => {
  const { cloud, asked, answer } = slowTags();
  const first = tagsOf(cloud, 'a');
  await new Promise(setImmediate);
  const others = Array.from({ length: 25 }, (_, index) => tagsOf(cloud, `b${index}`));
  await new Promise(setImmediate);
  expect(asked).toEqual([['a']]);
  for (let request = 0; request < 3; request++) await answer();
  expect(asked.map(({ length }) => length)).toEqual([1, 20, 5]);
  expect(await first).toEqual(['a']);
  expect(await Promise.all(others)).toEqual(others.map((_, index) => [`b${index}`]));
});

test('a missing resource fails only the call that names it', async () => {
  const { cloud, answer } = slowTags('gone');
  const [good, bad] = [tagsOf(cloud, 'a', 'b'), tagsOf(cloud, 'gone').catch((error: unknown) => error)];
  for (let request = 0; request < 4; request++) await answer();
  expect(await good).toEqual(['a', 'b']);
  expect(await bad).toMatchObject({ code: 'notFound' });
});

test('a call for a new Service does not wait for a request of re-reads', async () => {
  const { cloud, asked, answer } = slowTags();
  const reread = withUrgency('reread', () => tagsOf(cloud, 'old'));
  await new Promise(setImmediate);
  const fresh = withUrgency('new', () => tagsOf(cloud, 'new'));
  await new Promise(setImmediate);
  expect(asked).toEqual([['old'], ['new']]);
  for (let request = 0; request < 2; request++) await answer();
  expect([await reread, await fresh]).toEqual([['old'], ['new']]);
});
