import fc from 'fast-check';
import { describe, test } from 'vitest';
import { runs } from '../../../../test/support/property.ts';
import { anyRefusedEdit, checkRefusedEdit } from '../support/refused-edit.ts';

/** Deterministic by default. AWS_RUNS and AWS_SEED widen the search. */
const sample = { numRuns: Number(process.env['AWS_RUNS'] ?? runs(200)), seed: Number(process.env['AWS_SEED'] ?? 5) };

describe('one call that AWS refuses', () => {
  test('costs only what was refused, is named, and leaves nothing behind when the refusal ends', async () => {
    await fc.assert(fc.asyncProperty(anyRefusedEdit, checkRefusedEdit), sample);
  }, 600_000);
});
