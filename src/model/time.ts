/** RFC 3339 in UTC, to the second, of milliseconds since the epoch: metav1.Time, and how times are written into tags. */
export function formatTime(milliseconds: number): string {
  // oxlint-disable-next-line no-restricted-globals -- of a given number, not of the present
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Undefined where nothing, or no time, is written. */
export function parseTime(text: string | undefined): number | undefined {
  // oxlint-disable-next-line no-restricted-globals -- as above
  const milliseconds = Date.parse(text ?? '');
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
