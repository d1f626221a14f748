import { expect, test } from 'vitest';
import { textLog } from '../../../../src/cli/process/text-log.ts';

function lines(level: string): { readonly log: ReturnType<typeof textLog>; readonly said: string[] } {
  const said: string[] = [];
  return {
    log: textLog(
      level,
      () => new Date(Date.UTC(2026, 0, 2)),
      (line) => void said.push(line),
    ),
    said,
  };
}

test('a log line has time, level, message, and fields that are unambiguous', () => {
  const { log, said } = lines('info');
  log.warn({ peer: 'tor1', reason: 'no answer "yet"', routes: [1, 2], count: 3n, none: undefined }, 'session down');
  expect(said).toEqual([
    '2026-01-02T00:00:00.000Z WARN  session down peer=tor1 reason="no answer \\"yet\\"" routes=[1,2] count="3" none=undefined',
  ]);
});

test('an error is one line, with its stack', () => {
  const { log, said } = lines('info');
  log.error({ error: new Error('no') }, 'failed');
  expect(said).toHaveLength(1);
  expect(said[0]).not.toContain('\n');
  expect(said[0]).toContain('Error: no\\n');
});

test('messages below the level are not logged', () => {
  const { log, said } = lines('warn');
  log.debug({}, 'a');
  log.info({}, 'b');
  log.warn({}, 'c');
  log.error({}, 'd');
  expect(said.map((line) => line.slice(-1))).toEqual(['c', 'd']);
});
