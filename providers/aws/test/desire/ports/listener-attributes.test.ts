import { expect, test } from 'vitest';
import { reasonText } from '../../../../../src/model/reasons.ts';
import { stackOf } from '../../../desire/stack.ts';
import { awsMember, StackFixture } from '../../support/stack-fixture.ts';

test('attributes of a listener that the Service does not have are a warning, and the load balancer is made', async () => {
  const account = new StackFixture();
  const annotations = { 'listener-attributes.TCP-81': 'tcp.idle_timeout.seconds=400' };
  const member = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations });
  const { errors, warnings } = await account.settle(stackOf(member), [member]);
  expect([...errors]).toEqual([]);
  expect([...warnings.values()].flat().map(reasonText).join()).toMatch(
    /listener-attributes\.TCP-81 has no effect: it belongs to no listener of default\/web .*TCP-80/,
  );
  expect(account.world.listeners.size).toBe(1);
});
