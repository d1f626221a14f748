import { remedyText, reasonText, type Reason } from '../../model/reasons.ts';

/** Returns a reason after its lead, and the fix in an indented line below. */
export function withFix(lead: string, because: Reason): string[] {
  const todo = remedyText(because);
  const margin = lead.length - lead.trimStart().length;
  const indent = ' '.repeat(lead.trimStart() === '' ? lead.length : margin + 4);
  return [`${lead}${reasonText(because)}`, ...(todo === '' ? [] : [`${indent}fix: ${todo}`])];
}
