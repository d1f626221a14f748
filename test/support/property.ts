/** Set to `full` at night and by hand, for all runs of each property test. */
const isFull = process.env['TIER'] === 'full';

/** Returns the number of runs of a property test: `full` of them with TIER=full, a tenth in `npm test`. */
export function runs(full: number): number {
  return isFull ? full : Math.ceil(full / 10);
}

/** The seed of all property tests that name none. The runner prints it, and PROPERTY_SEED repeats it. */
export const propertySeed = Number(process.env['PROPERTY_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
