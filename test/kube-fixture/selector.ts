import type { ApiObject } from './object.ts';

export type Selector = (object: ApiObject) => boolean;

/**
 * Parses the selectors that kube-proxy and Herald send: labels "!key" and "key=value", fields "a.b=value" and "a.b!=value", separated by
 * commas. Throws RangeError for any other, so that an answer never has more objects than were requested.
 */
export function selectorOf(labels: string, fields: string): Selector {
  const tests = [...terms(labels).map(labelTest), ...terms(fields).map(fieldTest)];
  return (object) => tests.every((test) => test(object));
}

function terms(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

function labelTest(term: string): Selector {
  const absent = /^!([\w./-]+)$/.exec(term)?.[1];
  if (absent !== undefined) return ({ metadata }) => metadata.labels?.[absent] === undefined;
  const [, key, value] = /^([\w./-]+)==?([\w.-]*)$/.exec(term) ?? [];
  if (key === undefined) throw new RangeError(`label selector ${term}`);
  return ({ metadata }) => metadata.labels?.[key] === value;
}

function fieldTest(term: string): Selector {
  const [, path = '', operator, value] = /^([\w.]+?)(!?=)(.*)$/.exec(term) ?? [];
  if (operator === undefined) throw new RangeError(`field selector ${term}`);
  return (object) => (fieldAt(object, path.split('.')) === value) === (operator === '=');
}

function fieldAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce((part, name) => (part as Readonly<Record<string, unknown>> | undefined)?.[name], object);
}
