import { describe, expect, test } from 'vitest';
import { allReasons } from '../../support/built-in-providers.ts';
import { conditionText, reasonText, remedyText, stableText, type Reason } from '../../../src/model/reasons.ts';

/** Details for any reason: every field is a text, and used as a number it is a number. */
const anything: unknown = new Proxy({}, { get: (_, name) => (name === Symbol.toPrimitive ? () => 'x' : `<${String(name)}>`) });

/** Characters that are not seen, or that change the text around them, as a Service, a peer or AWS may write them. */
const hidden = [
  '\n',
  '\r',
  '\t',
  '\0',
  '\u001b[2J',
  '\u007f',
  '\u0085',
  '\u009b',
  '\u00ad',
  '\u200b',
  '\u200e',
  '\u202e',
  '\u2028',
  '\u2029',
  '\u2066',
  '\u2069',
].concat(['\ufeff', '\u{e0041}', '\ud800']);

describe('the texts of a reason show every character of its details', () => {
  const hostile: unknown = new Proxy({}, { get: (_, name) => (name === Symbol.toPrimitive ? () => 'x' : `<${hidden.join('a')}>`) });
  test.each(Object.keys(allReasons))('%s', (code) => {
    const reason = { code, details: hostile } as Reason;
    for (const text of [conditionText(reason), reasonText(reason), remedyText(reason), stableText(reason) ?? ''])
      expect(text).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u);
  });

  test('an override of direction is written as its number', () => {
    const details = { key: 'a', problem: 'has \u202eb' };
    expect(reasonText({ code: 'AwsAnnotationInvalid', details })).toContain('has \\u{202e}b');
  });
});

describe('the catalogue of reasons', () => {
  test.each(Object.entries(allReasons))(
    '%s has a stable code, a brief without counts, a sentence and a fix',
    (code, { brief, says, fix }) => {
      expect(code).toMatch(/^[A-Z][A-Za-z0-9]+$/);
      expect(brief).toMatch(/^[A-Z].*[^.]$/);
      expect(brief).not.toMatch(/\d/);
      const sentence = (says as (details: unknown) => string)(anything);
      expect(sentence).not.toMatch(/undefined|\[object/);
      expect((fix as (details: unknown) => string)(anything)).not.toMatch(/undefined|\[object/);
    },
  );
});
