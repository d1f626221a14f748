/** Bounds of long work; docs/reference/limits.md lists them. */

/** Milliseconds of work after which long work yields to the event loop. */
export const timeSliceMilliseconds = 8;
