import { expect, test } from 'vitest';
import { protobufOrJson } from '../../../../src/kube/format/format-choice.ts';
import { readIdentity } from '../../../../src/kube/format/identity.ts';
import { service } from '../../../../src/kube/format/protobuf/kinds/service.ts';
import { encodedObject } from './protobuf/encode.ts';

const metadata = { name: 'web', namespace: 'default', resourceVersion: '199' };

test('name and version are read of an answer in protobuf, whatever its kind', () => {
  const answer = encodedObject(service, { metadata: { ...metadata, uid: 'u' }, spec: { type: 'ClusterIP' } });
  expect(readIdentity('application/vnd.kubernetes.protobuf', answer)).toEqual({ metadata });
});

test('an answer in JSON is read, because the API server has no other for kinds of a CRD', () => {
  expect(protobufOrJson).toBe('application/vnd.kubernetes.protobuf,application/json');
  expect(readIdentity('application/json', Buffer.from(JSON.stringify({ metadata })))).toMatchObject({ metadata });
});

test.each([
  ['protobuf that ends too early', 'application/vnd.kubernetes.protobuf', Buffer.from('k8s\0\x12\x09')],
  ['an object without a version', 'application/json', Buffer.from('{"metadata":{"name":"web"}}')],
])('%s is refused', (_, type, body) => {
  expect(() => readIdentity(type, body)).toThrow(expect.objectContaining({ code: 'malformed' }));
});
