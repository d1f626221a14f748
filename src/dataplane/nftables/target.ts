import { ok as assert } from 'node:assert';
import type { Frontend } from '../../net/frontend.ts';
import { frontendElements } from '../ruleset/elements.ts';
import type { Element } from '../ruleset/element.ts';

/** What one owner of elements is to have in the kernel. The elements of a frontend are made anew whenever they are needed. */
export type Target = { readonly frontend: Frontend } | { readonly elements: readonly Element[] };

/** The frontend has no problem. */
export function elementsOf(target: Target): readonly Element[] {
  if ('elements' in target) return target.elements;
  const result = frontendElements(target.frontend);
  assert(result.ok);
  return result.elements;
}

export function frontendOf(target: Target | undefined): Frontend | undefined {
  return target !== undefined && 'frontend' in target ? target.frontend : undefined;
}
