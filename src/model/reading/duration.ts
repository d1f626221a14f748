import { parsed, invalid, type Parsed } from '../../net/parsed.ts';

const unitMilliseconds: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const term = /^([0-9]{1,9}(?:\.[0-9]{1,9})?)(ns|us|µs|ms|s|m|h)/;

/** Reads a Go duration (time.ParseDuration), as metav1.Duration is written: "90s", "1m30s", "0". Refuses negative ones. Returns seconds. */
export function parseDuration(text: string): Parsed<number> {
  if (text === '0') return parsed(0);
  if (text.startsWith('-')) return invalid('a duration cannot be negative here');
  if (/^[0-9.]+$/.test(text)) return invalid(`a duration needs a unit: write ${text}s for seconds`);
  let milliseconds = 0;
  let rest = text;
  do {
    const found = term.exec(rest);
    const unit = unitMilliseconds[found?.[2] ?? ''];
    if (found === null || unit === undefined) return invalid('not a duration: write for example 90s, 1m30s or 500ms');
    milliseconds += Number(found[1]) * unit;
    rest = rest.slice(found[0].length);
  } while (rest !== '');
  return parsed(milliseconds / 1000);
}

/** Reads a duration that must be a whole number of seconds, as BGP timers are on the wire. */
export function parseWholeSeconds(text: string): Parsed<number> {
  const duration = parseDuration(text);
  if (!duration.ok || Number.isInteger(duration.value)) return duration;
  return invalid('must be a whole number of seconds');
}
