/** Bounds of turns that follow connections. Listed in docs/reference/limits.md. */

/** Milliseconds from the end of a look at the connections to the next one, at least. */
export const lookInterval = 1_000;

/** The same after a Service or its endpoints have changed. */
export const changedPause = 100;

/** Milliseconds without a look that pay for a millisecond of a processor: looks take at most a twentieth of a core. */
export const pauseFactor = 20;

/** Milliseconds of a processor that a look usually takes at a small table. The first one counts twice that at most. */
export const usualLook = 20;

/** The longest pause between two looks, in milliseconds, however long they take. */
export const longestPause = 30_000;
