import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { attributeNames, type AttributeOwner } from '../../annotations/attribute-names.ts';

const require = createRequire(import.meta.url);
const types = { loadBalancer: 'LoadBalancerAttribute', targetGroup: 'TargetGroupAttribute', listener: 'ListenerAttribute' } as const;
const names = /<li> <p> <code>([^<]+)<\/code> -/g;

/** The names that the documentation of the SDK lists for NLBs. */
function documented(owner: AttributeOwner): string[] {
  const main = dirname(require.resolve('@aws-sdk/client-elastic-load-balancing-v2'));
  const text = readFileSync(join(main, '../dist-types/models/models_0.d.ts'), 'utf8');
  const start = text.indexOf(`export interface ${types[owner]} {`);
  const lists = text
    .slice(start, text.indexOf('Value?', start))
    .replaceAll(/\s+\*?\s*/g, ' ')
    .split(/attributes? (?:is|are) supported/);
  // Before the first list stands the introduction. The lists say at their beginning for which load balancers they are.
  const forNlb = lists.slice(1).filter((list) => /^[^:]*(?:all load balancers|Network Load Balancers)/.test(list));
  const all = forNlb.flatMap((list) => [...list.matchAll(names)].map(([, name = '']) => name));
  return [...new Set(all)].filter((name) => !name.startsWith('routing.http.')).toSorted();
}

test.each(['loadBalancer', 'targetGroup', 'listener'] as const)('the known attributes of %s are those of the SDK', (owner) => {
  const listed = documented(owner);
  expect(listed.length).toBeGreaterThan(0);
  expect([...attributeNames[owner]].toSorted()).toEqual(listed);
});
