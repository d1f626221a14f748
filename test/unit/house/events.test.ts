import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventsPage } from '../../../scripts/generate/events-page.ts';
import { eventTable } from '../../../src/controller/events/event-table.ts';
import { limits } from '../../../src/controller/limits.ts';
import { limits as kubeLimits } from '../../../src/kube/limits.ts';

addBuiltInProviders();

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/events.md'), 'utf8');

test('docs/reference/events.md is what npm run generate writes', () => {
  expect(page).toBe(eventsPage());
});

test('the figures on the page are those of the code', () => {
  expect(page).toContain(`lasted ${limits.conditionHoldMilliseconds / 1000} s`);
  expect(page).toContain(`(${kubeLimits.eventBurst}, then one in five minutes)`);
  expect(page).toContain(`(${1000 / kubeLimits.eventRateMilliseconds} a second; ${1000 / kubeLimits.eventBusyRateMilliseconds} while`);
  expect(kubeLimits.eventTokenMilliseconds).toBe(5 * 60_000);
});

test('reasons and actions are codes that the API accepts', () => {
  for (const kind of Object.values(eventTable)) {
    expect(kind.action).toMatch(/^[A-Z][A-Za-z]+$/);
    if ('reason' in kind) expect(kind.reason).toMatch(/^[A-Z][A-Za-z]+$/);
  }
});
