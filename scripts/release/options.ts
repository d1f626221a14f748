import { parseArgs } from 'node:util';
import { publishedImage } from './published.ts';
import type { Addresses } from './release.ts';

export interface Options {
  readonly version: string;
  readonly dryRun: boolean;
  readonly folder: string;
  readonly addresses: Addresses;
}

/** A mistake on the command line. */
export class UsageError extends Error {}

export const help = `Builds every file of a release into one folder. Publishes nothing.

  npm run release -- VERSION [--dry-run] [options]

  VERSION          like 0.2.0 or 0.2.0-rc.1, greater than the last tag
  --dry-run        addresses may be missing; placeholders take their place, and no commands to publish are printed
  --folder FOLDER  where the files go. Default: dist-release. An earlier release there is replaced
  --image REPO     repository of the image, without a tag. Default: publishedImage of scripts/release/published.ts
  --download URL   folder from which krew downloads kubectl-herald.tar.gz
  --source URL     repository of the sources. Default: homepage of package.json
  --builder URL    identifies the builder in the provenance. Default: "by hand"
  --help           prints this text

Without --dry-run the script prints the commands that publish the files. It runs none of them.

The same commit, version and addresses give the same octets. The working tree must be clean. Needs Linux on x64, git, npm and dpkg-deb; downloads
packages of Debian and npm once into ~/.cache/herald/release, and checks their digests. HERALD_DEBIAN_MIRROR names a mirror of Debian.

Exit status: 0 everything is built, 1 it cannot be built or the commit cannot be released, 2 wrong arguments.

Examples:
  npm run release -- 0.2.0 --dry-run
  npm run release -- 0.2.0 --image registry.example/herald --download https://releases.example/herald/v0.2.0
`;

/** Returns undefined when the help is wanted. Throws UsageError. */
export function parseOptions(args: readonly string[], homepage: string): Options | undefined {
  const { values, positionals } = parsed(args);
  if (values.help === true) return undefined;
  const [version, ...others] = positionals;
  if (version === undefined || others.length > 0) throw new UsageError(`one VERSION is needed, and there are ${positionals.length}`);
  const dryRun = values['dry-run'] === true;
  const given = values.image ?? publishedImage;
  if (!dryRun && given === '') throw new UsageError('--image is needed without --dry-run');
  if (!dryRun && values.download === undefined) throw new UsageError('--download is needed without --dry-run');
  const image = given === '' ? 'registry.example/herald' : given;
  if (!/^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/.test(image))
    throw new UsageError(`--image ${image}: must be the repository of an image without a tag, in small letters`);
  const url = (name: 'download' | 'source' | 'builder', standard: string): string => {
    const value = (values[name] ?? standard).replace(/\/$/, '');
    if (!/^https:\/\/[^\s'"]+$/.test(value)) throw new UsageError(`--${name} ${value}: must begin with https://`);
    return value;
  };
  return {
    version,
    dryRun,
    folder: values.folder ?? 'dist-release',
    addresses: {
      image,
      download: url('download', `https://releases.example/herald/v${version}`),
      source: url('source', homepage),
      builder: url('builder', `${homepage}/docs/reference/release.md#by-hand`),
      homepage,
    },
  };
}

// oxlint-disable-next-line typescript/explicit-function-return-type -- the type is that of parseArgs
function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        folder: text,
        image: text,
        download: text,
        source: text,
        builder: text,
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
