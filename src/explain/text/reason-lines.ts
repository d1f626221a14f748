import { remedyText, reasonText, type Reason } from '../../model/reasons.ts';

/** A reason behind its lead, and what to do about it in a line below, indented a little more. */
export function withFix(lead: string, because: Reason): string[] {
  const todo = remedyText(because);
  const margin = lead.length - lead.trimStart().length;
  const indent = ' '.repeat(lead.trimStart() === '' ? lead.length : margin + 4);
  return [`${lead}${reasonText(because)}`, ...(todo === '' ? [] : [`${indent}fix: ${todo}`])];
}
