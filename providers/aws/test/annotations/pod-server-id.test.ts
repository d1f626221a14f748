import { describe, expect, test } from 'vitest';
import { targetPodOf } from '../../../../providers/aws/model/pods.ts';
import { readPod } from '../../../../src/model/parse/kubernetes/pod.ts';

const injected = { name: 'AWS_LBC_QUIC_SERVER_ID', value: Buffer.from('0011223344556677', 'hex').toString('base64') };

function pod(annotations: Readonly<Record<string, string>>, env: readonly object[] = []): unknown {
  return { metadata: { name: 'web', annotations }, spec: { containers: [{ name: 'log' }, { name: 'app', env }] } };
}

describe('the server id that is written on a Pod', () => {
  const ofLbc = { 'service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers': 'app' };
  const own = { 'herald.dev/aws-quic-server-id': ' 0x00000000000000ab ' };

  test.each([
    ['is absent without an annotation', {}, [injected], undefined],
    ['comes from its annotation', own, [], '0x00000000000000ab'],
    ['comes from the variable that the webhook of the AWS Load Balancer Controller has set', ofLbc, [injected], '0x0011223344556677'],
    ['comes from its annotation before the variable', { ...ofLbc, ...own }, [injected], '0x00000000000000ab'],
    ['is absent while the webhook has set no variable', ofLbc, [{ name: 'OTHER', value: 'x' }], undefined],
  ])('%s', (_, annotations, env, expected) => {
    const read = readPod(pod(annotations, env));
    expect(read === undefined ? 'unreadable' : targetPodOf(read).quicServerId).toBe(expected);
  });
});
