import process from 'node:process';

/** Set to `full` at night and by hand, for every daemon and version. Without it FRR and BIRD of this Debian run. */
export const isFullTier = process.env['TIER'] === 'full';

/** The files of daemons and versions that only the full tier runs. */
const onlyFull = ['gobgp', 'openbgpd', 'bird-trixie', 'frr-trixie', 'bfd-gobgp', 'bfd-bird-trixie', 'bfd-frr-trixie'].map(
  (name) => `test/peers/${name}.test.ts`,
);

/** The files that this run leaves out. The runner prints them. */
export const leftOut: readonly string[] = isFullTier ? [] : onlyFull;
