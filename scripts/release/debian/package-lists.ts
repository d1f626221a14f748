/** One version of a package in a list of Debian (deb822, https://wiki.debian.org/DebianRepository/Format). */
export interface Candidate {
  readonly name: string;
  readonly version: string;
  /** The source package, which security advisories name. */
  readonly source: string;
  /** Where the file is below the archive: pool/main/... */
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
  /** Each dependency is a list of alternatives. */
  readonly dependencies: readonly (readonly string[])[];
  readonly provides: readonly string[];
}

/** Reads a file "Packages". */
export function readPackageList(text: string): Candidate[] {
  return text
    .split(/\n{2,}/)
    .map((stanza) => stanzaOf(stanza))
    .filter((fields) => fields.has('Package'))
    .map((fields) => {
      const field = (name: string): string => fields.get(name) ?? '';
      const names = (name: string): string[][] =>
        field(name)
          .split(',')
          .map((each) => each.split('|').map(nameIn))
          .filter(([first]) => first !== '');
      return {
        name: field('Package'),
        version: field('Version'),
        source: nameIn(field('Source') || field('Package')),
        file: field('Filename'),
        size: Number(field('Size')),
        sha256: field('SHA256'),
        dependencies: [...names('Pre-Depends'), ...names('Depends')],
        provides: names('Provides').flat(),
      };
    });
}

/** Reads the fields of a stanza. A line that begins with a blank continues the field before it. */
export function stanzaOf(text: string): ReadonlyMap<string, string> {
  const fields = text.matchAll(/^([A-Za-z][\w-]*):[ \t]*((?:.*)(?:\n[ \t].*)*)/gm);
  return new Map([...fields].map(([, name = '', value = '']) => [name, value]));
}

/** "libc6:any (>= 2.38)" is libc6. */
function nameIn(dependency: string): string {
  return /^\s*([a-z0-9][a-z0-9+.-]*)/.exec(dependency)?.[1] ?? '';
}

/**
 * Returns the packages that `roots` need, sorted by name. Of several versions the highest is taken, of alternatives the first that exists.
 * Packages in `leftOut` are not followed. `compare` is negative when the first version is lower.
 */
export function closure<C extends Candidate>(
  candidates: readonly C[],
  roots: readonly string[],
  leftOut: ReadonlySet<string>,
  compare: (one: string, other: string) => number,
): C[] {
  const byName = Map.groupBy(candidates, ({ name }) => name);
  const providers = new Map(candidates.toReversed().flatMap((one) => one.provides.map((name) => [name, one.name] as const)));
  const newest = (name: string | undefined): C[] => {
    const versions = byName.get(name ?? '')?.toSorted((one, other) => compare(other.version, one.version)) ?? [];
    return versions.slice(0, 1);
  };
  const chosen = new Map<string, C>();
  const choose = (alternatives: readonly string[], by: string): void => {
    if (alternatives.some((name) => leftOut.has(name) || chosen.has(name))) return;
    const found = alternatives.flatMap(newest)[0] ?? alternatives.flatMap((name) => newest(providers.get(name)))[0];
    if (found === undefined) throw new Error(`${by} needs ${alternatives.join(' or ')}, which is in no list`);
    if (chosen.has(found.name)) return;
    chosen.set(found.name, found);
    for (const each of found.dependencies) choose(each, found.name);
  };
  for (const root of roots) choose([root], 'the image');
  return [...chosen.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
