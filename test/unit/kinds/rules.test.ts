import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../src/lang/defined.ts';
import { kinds } from '../../../src/model/kinds.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { brokenRules, exampleOf, outOfBounds } from '../../kinds/bent-objects.ts';

addBuiltInProviders();

describe('the object reader', () => {
  test.each(kinds)('accepts the example of $kind', (kind) => {
    const { object, problems, warnings } = parseObject(exampleOf(kind));
    expect([...problems, ...warnings]).toEqual([]);
    expect(object).toMatchObject({ kind: kind.kind });
  });

  test('the tested objects break over 50 rules and 150 bounds', () => {
    expect(brokenRules().length).toBeGreaterThan(50);
    expect(outOfBounds().length).toBeGreaterThan(150);
  });

  test.each(brokenRules())('refuses a $kind whose $field $what', ({ object, field, what, said }) => {
    const result = parseObject(object);
    expect(result.object).toBeUndefined();
    expect(result.problems).toContainEqual(expect.objectContaining({ field, ...defined({ message: said }) }));
    // The API server checks no rule of an object that lacks a required field.
    expect(result.problems.filter(({ message }) => message === 'is required' && message !== what)).toEqual([]);
  });

  test.each(outOfBounds())('refuses a $kind whose $field $what', ({ object, field }) => {
    const result = parseObject(object);
    expect(result.object).toBeUndefined();
    expect(result.problems.filter((one) => one.field.startsWith(field))).not.toEqual([]);
  });
});
