import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PollSequence } from '../../../src/bfd/poll-sequence.ts';

const at = (desiredMinTx: number, requiredMinRx: number) => ({ desiredMinTx, requiredMinRx });

describe('interval changes while the session is up', () => {
  test('BFD-009 new intervals are advertised at once, with a poll', () => {
    const parameters = new PollSequence(at(1000, 300));
    parameters.startPoll(at(300, 300));
    expect(parameters.polling).toBe(true);
    expect(parameters.advertised).toEqual(at(300, 300));
  });

  test('BFD-015 slower sending waits for Final, faster sending does not', () => {
    const parameters = new PollSequence(at(300, 300));
    parameters.startPoll(at(1000, 300));
    expect(parameters.inForce.desiredMinTx).toBe(300);
    parameters.finalReceived();
    expect(parameters.inForce.desiredMinTx).toBe(1000);
    parameters.startPoll(at(50, 300));
    expect(parameters.inForce.desiredMinTx).toBe(50);
  });

  test('BFD-015 a shorter detection time waits for Final, a longer one does not', () => {
    const parameters = new PollSequence(at(300, 300));
    parameters.startPoll(at(300, 50));
    expect(parameters.inForce.requiredMinRx).toBe(300);
    parameters.finalReceived();
    expect(parameters.inForce.requiredMinRx).toBe(50);
    parameters.startPoll(at(300, 1000));
    expect(parameters.inForce.requiredMinRx).toBe(1000);
  });

  test('BFD-015 unchanged intervals start no poll, and Final without a poll changes nothing', () => {
    const parameters = new PollSequence(at(300, 300));
    parameters.startPoll(at(300, 300));
    expect(parameters.polling).toBe(false);
    parameters.finalReceived();
    expect(parameters.inForce).toEqual(at(300, 300));
  });

  test('BFD-015 a change during a poll is polled afterwards, as the Final may answer the earlier poll', () => {
    const parameters = new PollSequence(at(300, 300));
    parameters.startPoll(at(1000, 300));
    parameters.startPoll(at(2000, 300));
    expect(parameters.advertised).toEqual(at(1000, 300));
    parameters.finalReceived();
    expect(parameters).toMatchObject({ polling: true, advertised: at(2000, 300), inForce: at(1000, 300) });
    parameters.finalReceived();
    expect(parameters).toMatchObject({ polling: false, inForce: at(2000, 300) });
  });

  test('after any changes a session sends as fast as the peer expects and waits the negotiated time', () => {
    const interval = fc.integer({ min: 1, max: 10 });
    const change = fc.record({ type: fc.constant('change' as const), tx: interval, rx: interval });
    const final = fc.constant({ type: 'final' as const });
    fc.assert(
      fc.property(fc.array(fc.oneof(change, final)), (steps) => {
        const parameters = new PollSequence(at(5, 5));
        // All intervals that the peer may believe: those advertised since the last Final.
        let believed = [at(5, 5)];
        for (const step of steps) {
          if (step.type === 'change') parameters.startPoll(at(step.tx, step.rx));
          else {
            believed = [parameters.advertised];
            parameters.finalReceived();
          }
          believed.push(parameters.advertised);
          expect(parameters.inForce.desiredMinTx).toBeLessThanOrEqual(Math.min(...believed.map(({ desiredMinTx }) => desiredMinTx)));
          expect(parameters.inForce.requiredMinRx).toBeGreaterThanOrEqual(Math.max(...believed.map(({ requiredMinRx }) => requiredMinRx)));
        }
      }),
    );
  });
});
