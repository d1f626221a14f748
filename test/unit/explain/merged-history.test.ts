import { expect, test } from 'vitest';
import { renderHistory } from '../../../src/explain/merged-history.ts';

test('where nothing is remembered, it is said how to find out whether the name is right', () => {
  const told = [{ who: 'the controller', since: '2026-01-31T12:00:00.000Z' }];
  expect(renderHistory({ kind: 'Service', name: 'shop/wbe', entries: [], told, unasked: [] })[2]).toContain(
    'herald explain service shop/wbe',
  );
  expect(renderHistory({ kind: 'BGPPeer', name: 'rooter', entries: [], told, unasked: [] })[2]).toContain('herald explain peer rooter');
});
