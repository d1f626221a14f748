import { describe, expect, test } from 'vitest';
import { catalogue } from '../../../src/model/reasons.ts';

/** Details for any reason: every field is a text, and used as a number it is a number. */
const anything: unknown = new Proxy({}, { get: (_, name) => (name === Symbol.toPrimitive ? () => 'x' : `<${String(name)}>`) });

describe('the catalogue of reasons', () => {
  test.each(Object.entries(catalogue))(
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
