import { limits } from '../limits.ts';

/** Where in an object: names of fields and indexes of lists. */
export type FieldPath = readonly (string | number)[];

/** What is wrong with one field, and what to do about it. Never holds the value of a secret. */
export interface FieldProblem {
  readonly path: FieldPath;
  /** `path` as text: "spec.ports[0].port". Empty for the object as a whole. */
  readonly field: string;
  readonly message: string;
  /** "" where the message says it all. */
  readonly fix: string;
}

/** Everything that was found in one object: bounded, in the order found. */
export interface Findings {
  readonly problems: FieldProblem[];
  readonly warnings: FieldProblem[];
  /** A problem leaves nothing of the object to use. */
  unusable: boolean;
}

export function addProblem(to: FieldProblem[], path: FieldPath, message: string, fix: string): void {
  if (to.length < limits.problemsPerObject) to.push({ path, field: fieldText(path), message, fix });
}

export function fieldText(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[\w-]+$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `["${step}"]`;
  }
  return text;
}
