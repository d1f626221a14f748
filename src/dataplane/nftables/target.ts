import type { Frontend } from '../../net/frontend.ts';
import { addFrontendElements, frontendElements } from '../ruleset/elements.ts';
import type { Element, ElementSink } from '../ruleset/element.ts';

/** The desired elements of one owner. The elements of a frontend are computed each time they are needed. */
export type Target = { readonly frontend: Frontend } | { readonly elements: readonly Element[] };

/** Returns the desired elements. A frontend must have no problem (`frontendProblem`). */
export function targetElements(target: Target): readonly Element[] {
  return 'elements' in target ? target.elements : frontendElements(target.frontend);
}

/** Passes the desired elements to `to`, without an object for each backend. */
export function addTargetElements(target: Target, to: ElementSink): void {
  if ('frontend' in target) addFrontendElements(target.frontend, to);
  else for (const element of target.elements) to.push(element);
}

export function targetFrontend(target: Target | undefined): Frontend | undefined {
  return target !== undefined && 'frontend' in target ? target.frontend : undefined;
}
