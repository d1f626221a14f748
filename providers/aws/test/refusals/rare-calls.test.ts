import { describe, expect, test } from 'vitest';
import { refusals } from '../moto/fake/refusals.ts';
import { callsOf, checkRefusedEdit, rareEdits } from '../support/refused-edit.ts';

describe.each(rareEdits)('a call that few edits make, %s, refused', (operation, edit) => {
  const count = refusals.filter((one) => one.operation === operation).length;

  test.each([undefined, 2])('costs only what was refused, and leaves nothing behind; restart after: %s', async (restartAfter) => {
    const at = (await callsOf(edit)).get(operation);
    if (at === undefined) expect.unreachable('the edit does not make the call');
    for (let which = 0; which < count; which++)
      for (const times of [1, Infinity]) await checkRefusedEdit({ edit, at, which, times, scope: 'operation', restartAfter });
  });
});
