/** A version by https://semver.org. Build metadata (+...) is refused: tags of images may not contain it. */
export interface Version {
  readonly numbers: readonly number[];
  readonly prerelease: readonly string[];
}

const identifier = '(?:0|[1-9]\\d*|\\d*[a-zA-Z-][\\da-zA-Z-]*)';
const format = new RegExp(`^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-(${identifier}(?:\\.${identifier})*))?$`);

/** Returns undefined for a text that is no version. */
export function parseVersion(text: string): Version | undefined {
  const match = format.exec(text);
  if (match === null) return undefined;
  const [, major, minor, patch, prerelease] = match;
  return { numbers: [major, minor, patch].map(Number), prerelease: prerelease?.split('.') ?? [] };
}

/** Negative when the first version comes before the second (https://semver.org/#spec-item-11). */
export function compareVersions(one: Version, other: Version): number {
  for (const [index, number] of one.numbers.entries()) {
    const difference = number - (other.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  // A pre-release comes before its release.
  if (one.prerelease.length === 0 || other.prerelease.length === 0) return other.prerelease.length - one.prerelease.length;
  for (const [index, mine] of one.prerelease.entries()) {
    const theirs = other.prerelease[index];
    if (theirs === undefined) return 1;
    if (mine !== theirs) return compareIdentifiers(mine, theirs);
  }
  return one.prerelease.length - other.prerelease.length;
}

/** Numbers come before words. */
function compareIdentifiers(one: string, other: string): number {
  const [mine, theirs] = [one, other].map((each) => (/^\d+$/.test(each) ? Number(each) : undefined));
  if (mine !== undefined && theirs !== undefined) return mine - theirs;
  if (mine !== undefined || theirs !== undefined) return mine === undefined ? 1 : -1;
  return one < other ? -1 : 1;
}
