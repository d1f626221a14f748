import { EventEmitter } from 'node:events';
import { beforeEach, expect, test } from 'vitest';
import { endsAtOnce, stopSignals, type StopSignals } from '../../../../src/cli/context/stop-signals.ts';

let host: EventEmitter;
let ended: number;
let signals: StopSignals;
beforeEach(() => {
  host = new EventEmitter();
  ended = 0;
  signals = stopSignals(
    (signal, heard) => host.on(signal, heard),
    () => ended++,
  );
});

test.each(['SIGTERM', 'SIGINT'])('the first signal stops the command, the second ends the process: %s', (signal) => {
  host.emit(signal);
  expect([signals.stopped.aborted, signals.stopped.reason, ended]).toEqual([true, signal, 0]);
  host.emit('SIGTERM');
  expect(ended).toBe(1);
});

test('a waiting command receives the second signal, and the process continues until its wait is over', () => {
  let hurried = 0;
  const calm = signals.onHurry(() => hurried++);
  host.emit('SIGTERM');
  expect(hurried).toBe(0);
  host.emit('SIGTERM');
  expect([hurried, ended]).toEqual([1, 0]);
  calm();
  host.emit('SIGTERM');
  expect([hurried, ended]).toEqual([1, 1]);
});

test.each([
  [true, 'status'],
  [true, 'status -o wide'],
  [true, 'pools -owide'],
  [true, 'peer --node w'],
  [true, 'routes -A -n shop'],
  [true, 'history service shop/web'],
  [true, 'explain svc/web'],
  [true, 'version'],
  [false, 'status -w'],
  [false, 'peers --watch'],
  [false, 'routes -Aw'],
  [false, 'pools --watch=10'],
  [false, 'history peer tor1 -w5'],
  [false, 'drain node1'],
  [false, 'controller'],
  [false, 'bundle'],
  [false, 'ui'],
  [false, ''],
])('a signal ends at once, %s: herald %s', (expected, line) => {
  expect(endsAtOnce(line.split(' '))).toBe(expected);
});
