import { addBuiltInProviders } from '../../../support/built-in-providers.ts';
import { expect, test } from 'vitest';
import { Redaction } from '../../../../src/cli/reading/redaction.ts';

addBuiltInProviders();

const redact = (value: unknown): unknown => new Redaction().object(value);

test('a Secret is left out as a whole', () => {
  expect(redact({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tor' }, data: { password: 'aHVudGVyMg==' } })).toBeUndefined();
});

test.each([
  [{ spec: { password: 'hunter2', peerASN: 65001 } }, { spec: { password: 'REMOVED', peerASN: 65001 } }],
  [{ spec: { password: 12_345 } }, { spec: { password: 'REMOVED' } }],
  // Misspelled fields, which a schema would refuse, appear in directories.
  [{ spec: { pasword: 'hunter2' } }, { spec: { pasword: 'REMOVED' } }],
  [{ spec: { pwd: 'hunter2', psk: 'hunter3', tcpMd5: 'hunter4' } }, { spec: { pwd: 'REMOVED', psk: 'REMOVED', tcpMd5: 'REMOVED' } }],
  // The name of a Secret is not a secret.
  [{ spec: { passwordSecret: { name: 'tor-md5', namespace: 'herald-system' } } }, undefined],
  [{ spec: { secretName: 'tls', tokenFile: '/var/run/token', automountServiceAccountToken: true } }, undefined],
  [{ metadata: { annotations: { 'example.com/api-key': 'k' } } }, { metadata: { annotations: { 'example.com/api-key': 'REMOVED' } } }],
  [{ metadata: { name: 'x', managedFields: [{ manager: 'kubectl' }] } }, { metadata: { name: 'x' } }],
])('field names identify secrets: %j', (before, after) => {
  expect(redact(before)).toEqual(after ?? before);
});

test("kubectl's last-applied annotation is redacted as an object and stays readable", () => {
  const applied = JSON.stringify({ kind: 'BGPPeer', spec: { password: 'hunter2', peerASN: 65001 } });
  const { metadata } = redact({ metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': applied } } }) as {
    metadata: { annotations: Record<string, string> };
  };
  const text = metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] ?? '';
  expect(JSON.parse(text)).toEqual({ kind: 'BGPPeer', spec: { password: 'REMOVED', peerASN: 65001 } });
});

test('values of container variables and of secret arguments are removed', () => {
  const container = {
    env: [
      { name: 'X', value: 'anything' },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ],
    args: ['agent', '--node=node1', '--api-token', 'abc', '--password=def', '--socket', '/run/x'],
  };
  expect(redact(container)).toEqual({
    env: [
      { name: 'X', value: 'REMOVED' },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ],
    args: ['agent', '--node=node1', '--api-token', 'REMOVED', '--password=REMOVED', '--socket', '/run/x'],
  });
});

test.each([
  ['GET https://user:pass@example.com/x', 'GET https://REMOVED@example.com/x'],
  ['Authorization: Bearer abcdef0123456789', 'Authorization: Bearer REMOVED'],
  ['{"msg":"x","password":"hunter2","passwordSecret":{"name":"tor"}}', '{"msg":"x","password":REMOVED,"passwordSecret":{"name":"tor"}}'],
  ['password: hunter2', 'password: REMOVED'],
  ['md5keys:10.1.0.1/32=hunter2 psk=hunter3 --pwd=hunter4', 'md5keys:REMOVED psk=REMOVED --pwd=REMOVED'],
  ['AKIAABCDEFGHIJKLMNOP', 'REMOVED'],
  ['eyJhbGciOiJSUzI1.eyJpc3MiOiJrdWJl.c2lnbmF0dXJl', 'REMOVED'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----', 'REMOVED'],
  // People need to read these.
  ['reading /etc/herald: passwordSecret herald-system/tor-md5 is not there', undefined],
  ['tor1  64512  65001  192.0.2.1  Established  https://192.0.2.10:6443', undefined],
  ['TCP MD5 is suspected: the password may be another', undefined],
])('text is redacted by shape: %s', (before, after) => {
  expect(new Redaction().text(before)).toBe(after ?? before);
});

test('a secret that was seen in an object is removed from any text, in any encoding', () => {
  const redaction = new Redaction();
  redaction.learn({ kind: 'Secret', data: { password: Buffer.from('corr"ect horse').toString('base64') } });
  redaction.learn({ spec: { password: 'battery-staple' } });
  redaction.learn({
    metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"password":"earlier-one"}}' } },
  });
  const text = [
    'said corr"ect horse',
    JSON.stringify({ detail: 'corr"ect horse' }),
    encodeURIComponent('corr"ect horse'),
    Buffer.from('corr"ect horse').toString('base64'),
    'battery-staple earlier-one',
  ].join('\n');
  expect(redaction.text(text)).toBe('said REMOVED\n{"detail":"REMOVED"}\nREMOVED\nREMOVED\nREMOVED REMOVED');
});
