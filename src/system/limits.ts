/** Bounds of long work; docs/reference/limits.md lists them. */

/** Milliseconds of work after which the event loop has its turn. */
export const timeSliceMilliseconds = 8;
