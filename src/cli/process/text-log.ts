import type { Log } from '../../system/log.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** A log for people: time, level, message, and the fields as key=value. `write` receives one line. */
export function textLog(level: string, now: () => Date, write: (line: string) => void): Log {
  const least = levels.indexOf(level as Level);
  const at =
    (of: Level) =>
    (fields: object, message: string): void => {
      if (levels.indexOf(of) < least) return;
      const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${valueText(value)}`);
      write(`${now().toISOString()} ${of.toUpperCase().padEnd(5)} ${message}${pairs.join('')}`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Returns one line for any value. A value with spaces or quotes is quoted as in JSON. */
function valueText(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.stack ?? value.message);
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ?? 'undefined';
}
