/**
 * Returns what CHANGELOG.md says of a version, without its heading: the section of the version, or else the section "Unreleased". Returns
 * undefined when that section has no change.
 */
export function changesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^(?=## )/m).filter((part) => part.startsWith('## '));
  const named = (name: string): string | undefined => sections.find((part) => /^## \[?([^\s\]]+)/.exec(part)?.[1] === name);
  const section = named(version) ?? named('Unreleased');
  const text = section?.replace(/^.*\n/, '').trim();
  return text !== undefined && /^- \S/m.test(text) ? text : undefined;
}
