import { expect, test } from 'vitest';
import { parseObject } from '../../../../src/model/parse.ts';

test.each([
  { passwordSecret: 'hunter2' },
  { passwordSecret: { name: ['hunter2'] } },
  { password: { value: 'hunter2' } },
  { password: ['hunter2'] },
])('messages never show a value in the place of a password: %j', (fields) => {
  const { problems, warnings } = parseObject({
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'BGPPeer',
    metadata: { name: 'a' },
    spec: { myASN: 64512, peerASN: 64513, peerAddress: '192.0.2.1', ...fields },
  });
  expect(problems.length).toBeGreaterThan(0);
  expect(JSON.stringify([problems, warnings])).not.toContain('hunter2');
});
