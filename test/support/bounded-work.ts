import { expect } from 'vitest';

/** Longest processor time, in milliseconds, that one object may cost. */
const longest = 50;
/** Below this, a comparison of two sizes measures the machine and not the work. */
const measurable = 25;
/** Twice the size is twice the work, or less where a limit ends it. Quadratic work would be four times as much. */
const growth = 3.2;

/**
 * Expects that the work for one object is short at its largest size, and linear where it takes long enough to be measured. `prepare` makes the
 * input of a size outside the measurement, and returns the work. Only the time of this thread counts, and the best of several runs.
 */
export function expectBoundedWork(what: string, largest: number, prepare: (size: number) => () => unknown): void {
  const whole = timeOf(prepare(largest));
  expect(whole, `${what}: milliseconds of processor time`).toBeLessThan(longest);
  if (whole < measurable) return;
  const half = timeOf(prepare(largest / 2));
  expect(whole / half, `${what}: ${whole} ms for the largest size, ${half} ms for half of it`).toBeLessThan(growth);
}

function timeOf(work: () => unknown): number {
  let best = Infinity;
  for (let run = 0; run < 12 && (run === 0 || best >= measurable); run++) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

/** What the API server allows all annotations of an object together, less room for a name. */
export const largestAnnotation = 262_144 - 320;

function repeated(length: number, separator: string, item: (index: number) => string): string {
  const items: string[] = [];
  for (let size = 0; size < length;) {
    const text = item(items.length);
    items.push(text);
    size += text.length + separator.length;
  }
  return items.join(separator).slice(0, length);
}

/** Remembers what was made: some sizes are used for every annotation. */
function remembered(make: (length: number) => string): (length: number) => string {
  const known = new Map<number, string>();
  return (length) => {
    const text = known.get(length) ?? make(length);
    known.set(length, text);
    return text;
  };
}

const list = (item: (index: number) => string) => remembered((length) => repeated(length, ',', item));

/** Long texts of an annotation: what its grammars accept many times, and what makes their patterns search. By name. */
export const longTexts: Readonly<Record<string, (length: number) => string>> = {
  names: list((index) => `a${index}`),
  numbers: list((index) => `${1 + (index % 65_535)}`),
  'one letter': (length) => 'a'.repeat(length),
  labels: (length) => 'a-'.repeat(length / 2),
  dots: (length) => `${'a.'.repeat(length / 2 - 1)}!`,
  commas: (length) => ','.repeat(length),
  blanks: (length) => `a${' '.repeat(length - 2)}a`,
  backslashes: (length) => '\\'.repeat(length),
  pairs: list((index) => `k${index}=v`),
  'one pair and commas': (length) => `k=v${',a'.repeat(length / 2 - 2)}`,
  'IPv4 addresses': list((index) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`),
  'IPv6 prefixes': list((index) => `2001:db8:${(index & 65_535).toString(16)}::/80`),
  'security groups': list((index) => `sg-${index}`),
  certificates: list((index) => `arn:aws:acm:us-east-1:123456789012:certificate/${index}`),
  principals: list((index) => `arn:aws:iam::123456789012:role/${index}`),
  'host names': list((index) => `a${index}.example.com`),
  brackets: (length) => '['.repeat(length),
  weights: remembered((length) => {
    const groups = repeated(length - 100, ',', (index) => `{"serviceName":"s${index}","servicePort":80,"weight":1}`).replace(
      /,?\{[^}]*$/,
      '',
    );
    return `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[${groups}]}}`;
  }),
  record: remembered(
    (length) => `{"${'a'.repeat(20)}":[${repeated(length - 100, ',', (index) => `"10.0.0.${index} 80"`).replace(/,?"[^"]*$/, '')}]}`,
  ),
};
