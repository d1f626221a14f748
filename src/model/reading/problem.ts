import { limits } from '../limits.ts';

/** A path in an object: field names and list indexes. */
export type FieldPath = readonly (string | number)[];

/** A problem of one field and its fix. Never contains the value of a secret. */
export interface FieldProblem {
  readonly path: FieldPath;
  /** `path` as text: "spec.ports[0].port". "" for the object as a whole. */
  readonly field: string;
  readonly message: string;
  /** "" when the message needs no fix. */
  readonly fix: string;
}

/** The problems and warnings found in one object, in the order found. Their number is limited. */
export interface Findings {
  readonly problems: FieldProblem[];
  readonly warnings: FieldProblem[];
  /** True when a problem makes the whole object unusable. */
  unusable: boolean;
}

/** Adds a problem if there is room for it. `fix`: a function when it costs much to find. */
export function addProblem(to: FieldProblem[], path: FieldPath, message: string, fix: string | (() => string)): void {
  if (to.length >= limits.problemsPerObject) return;
  to.push({ path, field: fieldText(path), message, fix: typeof fix === 'string' ? fix : fix() });
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
