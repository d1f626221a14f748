import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Runs in the page. */
export const violations = `axe
  .run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] })
  .then((found) => found.violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html)].join(' ')))`;
/** A test puts it into the page, which the policy of the page forbids unless the browser ignores it. */
export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
