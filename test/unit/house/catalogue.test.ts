import { describe, expect, test } from 'vitest';
import { allReasons } from '../../support/built-in-providers.ts';

/** Details for any reason: every field is a text, and used as a number it is a number. */
const anything: unknown = new Proxy({}, { get: (_, name) => (name === Symbol.toPrimitive ? () => 'x' : `<${String(name)}>`) });

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
