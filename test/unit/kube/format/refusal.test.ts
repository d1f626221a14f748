import { expect, test } from 'vitest';
import { protobufType } from '../../../../src/kube/format/protobuf/media-type.ts';
import { readRefusal } from '../../../../src/kube/format/refusal.ts';
import { encodedStatus } from './protobuf/encode.ts';

const details = { kind: 'services', causes: [{ reason: 'NamespaceTerminating' }] };
const status = encodedStatus(403, ' is forbidden\n', 'NamespaceTerminating', 'services');

test.each<[string, string | undefined, Buffer, object]>([
  ['in protobuf', protobufType, status, { message: 'is forbidden', details }],
  ['in protobuf with a parameter', `${protobufType}; a=b`, status, { message: 'is forbidden', details }],
  ['in protobuf that is cut off', protobufType, status.subarray(0, 50), { message: '', details: undefined }],
  [
    'in JSON',
    'application/json',
    Buffer.from(JSON.stringify({ message: ' is forbidden\n', details })),
    { message: 'is forbidden', details },
  ],
  ['in JSON without a content type', undefined, Buffer.from('{"message":"no"}'), { message: 'no', details: undefined }],
  ['as a page of a proxy', 'text/html', Buffer.from('<html>503</html>\n'), { message: '<html>503</html>', details: undefined }],
  ['as JSON that is no Status', 'application/json', Buffer.from('[1]'), { message: '[1]', details: undefined }],
])('a refusal %s is read', (_, contentType, body, wanted) => {
  expect(readRefusal(contentType, body)).toEqual(wanted);
});
