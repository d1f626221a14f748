import { changesOf } from './changelog.ts';
import type { Commit } from './commit.ts';
import { compareVersions, parseVersion } from './semver.ts';

/** What decides whether a version can be released. */
export interface Situation {
  readonly version: string;
  readonly commit: Pick<Commit, 'changed' | 'tags'>;
  readonly changelog: string;
  readonly machine: { readonly system: string; readonly node: string };
  /** The version of Node.js in package-lock.json, with which a release is built. */
  readonly node: string;
  /** Packages in node_modules that are not those of package-lock.json. */
  readonly differentPackages: readonly string[];
}

/** Returns the first reason why the version cannot be released, with the fix. */
export function obstacle({ version, commit, changelog, machine, node, differentPackages }: Situation): string | undefined {
  const wanted = parseVersion(version);
  if (wanted === undefined) return `${version} is no version: it must be like 0.2.0 or 0.2.0-rc.1 (https://semver.org), without a "v"`;
  const [changed] = commit.changed;
  if (changed !== undefined)
    return `${commit.changed.length} files differ from the commit, the first is ${changed.slice(3)}: a release contains what is committed; commit or remove them`;
  const others = commit.tags
    .filter(({ name, here }) => !(here && name === `v${version}`))
    .flatMap(({ name }) => parseVersion(name.slice(1)) ?? []);
  const last = others.toSorted(compareVersions).at(-1);
  if (last !== undefined && compareVersions(wanted, last) <= 0)
    return `${version} does not come after the last tag, v${textOf(last)}: choose a greater version`;
  if (changesOf(changelog, version) === undefined)
    return `CHANGELOG.md has no change of ${version}: neither "## ${version}" nor "## Unreleased" has a line that begins with "- "`;
  if (machine.system !== 'linux x64')
    return `this machine is ${machine.system}: a release is built on linux x64, because Node.js may compress differently on other machines`;
  if (machine.node !== node)
    return `this is Node.js ${machine.node}, and a release is built with ${node} of package-lock.json: run npm run release, which uses it`;
  const [different] = differentPackages;
  if (different !== undefined)
    return `node_modules has other packages than package-lock.json, the first is ${different}: run npm ci --ignore-scripts`;
  return undefined;
}

function textOf({ numbers, prerelease }: { readonly numbers: readonly number[]; readonly prerelease: readonly string[] }): string {
  return [numbers.join('.'), ...(prerelease.length > 0 ? [prerelease.join('.')] : [])].join('-');
}
