import { expect, test } from 'vitest';
import { FormatChoice } from '../../../../src/kube/format/format-choice.ts';
import { jsonFormat } from '../../../../src/kube/format/json/json-format.ts';
import { namespace } from '../../../../src/kube/format/protobuf/kinds/namespace.ts';

const both = 'application/vnd.kubernetes.protobuf,application/json';

test.each([
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'Application/VND.kubernetes.protobuf ; stream=watch',
])('an answer of the type %s is protobuf, and the next one may be', (contentType) => {
  const choice = new FormatChoice(namespace);
  expect(choice.formatOf(contentType)).not.toBe(jsonFormat);
  expect(choice.accept).toBe(both);
});

test.each(['application/json', 'application/json;stream=watch', 'text/html', 'application/vnd.kubernetes.protobuf-2', '', undefined])(
  'an answer of the type %s is read as JSON, and so is every later one',
  (contentType) => {
    const choice = new FormatChoice(namespace);
    expect(choice.formatOf(contentType)).toBe(jsonFormat);
    expect(choice.accept).toBe('application/json');
    expect(choice.formatOf('application/vnd.kubernetes.protobuf')).toBe(jsonFormat);
  },
);

test('a kind without a table is JSON from the start', () => {
  expect(new FormatChoice(undefined).accept).toBe('application/json');
});
