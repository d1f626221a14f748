import { describe, expect, test } from 'vitest';
import { refusals } from '../moto/fake/refusals.ts';
import { callsOf, checkRefusedEdit, rareEdits } from '../support/refused-edit.ts';

describe.each(rareEdits)('a call that few edits make, %s, refused', (operation, edit) => {
  const count = refusals.filter((one) => one.operation === operation).length;

  test.each([undefined, 2])('costs only what was refused, and leaves nothing behind; restart after: %s', async (restartAfter) => {
    const at = (await callsOf(edit)).get(operation);
    expect(at, 'the edit makes the call').toBeDefined();
    for (let which = 0; which < count; which++)
      for (const times of [1, Infinity]) await checkRefusedEdit({ edit, at: at ?? 0, which, times, scope: 'operation', restartAfter });
  });
});
