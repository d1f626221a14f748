/** Formats milliseconds since the epoch as RFC 3339 in UTC, to the second: metav1.Time, and times in tags. */
export function formatTime(milliseconds: number): string {
  // oxlint-disable-next-line no-restricted-globals -- of a given number, not of the present
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Parses a time into milliseconds since the epoch. Returns undefined when the text is absent or not a time. */
export function parseTime(text: string | undefined): number | undefined {
  // oxlint-disable-next-line no-restricted-globals -- as above
  const milliseconds = Date.parse(text ?? '');
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
