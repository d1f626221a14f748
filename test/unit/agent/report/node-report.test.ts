import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { NodeReport } from '../../../../src/agent/report/node-report.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

interface Bench {
  readonly clock: VirtualClock;
  readonly report: NodeReport;
  readonly written: NodeState[];
  readonly warnings: string[];
  readonly advance: (milliseconds: number) => Promise<void>;
}

function bench(write: (state: NodeState) => Promise<void> = async () => undefined): Bench {
  const clock = new VirtualClock();
  const written: NodeState[] = [];
  const warnings: string[] = [];
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, error: ignore, warn: (_: object, message: string) => void warnings.push(message) };
  const writeNodeState = (state: NodeState): Promise<void> => {
    written.push(state);
    return write(state);
  };
  const content = (): Pick<NodeState, 'sessions' | 'differing' | 'consumed'> => ({
    sessions: [],
    differing: [],
    consumed: { Service: `${clock.now()}` },
  });
  const report = new NodeReport({ writeNodeState, clock, random: () => 1, log }, 'n1', content);
  const advance = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    await setImmediate();
  };
  return { clock, report, written, warnings, advance };
}

describe('the report of a node', () => {
  test('a burst of changes causes one write soon after, with the state of that moment', async () => {
    const { report, written, advance } = bench();
    report.scheduleWrite();
    await advance(30);
    report.scheduleWrite();
    expect(written).toEqual([]);
    await advance(20);
    expect(written).toMatchObject([
      { kind: 'NodeState', metadata: { name: 'n1', namespace: '' }, updated: '2026-01-01T00:00:00.050Z', consumed: { Service: '50' } },
    ]);
  });

  test('a write comes every half minute without a change, and not sooner', async () => {
    const { report, written, advance } = bench();
    report.scheduleWrite();
    await advance(50);
    await advance(29_999);
    expect(written).toHaveLength(1);
    await advance(1);
    expect(written).toHaveLength(2);
  });

  test('a change does not wait for the half minute', async () => {
    const { report, written, advance } = bench();
    report.scheduleWrite();
    await advance(50);
    await advance(1_000);
    report.scheduleWrite();
    await advance(50);
    expect(written).toHaveLength(2);
  });

  test('writes run one at a time; changes during a write cause one more', async () => {
    const ends: (() => void)[] = [];
    const { report, written, advance, clock } = bench(() => new Promise((resolve) => void ends.push(resolve)));
    report.scheduleWrite();
    await advance(50);
    for (let i = 0; i < 20; i++) {
      report.scheduleWrite();
      await advance(50);
    }
    expect(written).toHaveLength(1);
    ends[0]?.();
    await advance(0);
    expect(written).toHaveLength(2);
    expect(written[1]?.consumed).toEqual({ Service: `${clock.now()}` });
    ends[1]?.();
    await advance(1_000);
    expect(written).toHaveLength(2);
  });

  test('a failed write is repeated later', async () => {
    let failing = true;
    const { report, written, warnings, advance } = bench(async () => {
      if (failing) throw new Error('disk full');
    });
    report.scheduleWrite();
    await advance(50);
    failing = false;
    expect(warnings).toHaveLength(1);
    await advance(30_000);
    expect(written).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });

  test('a last write comes at the end, after the running one, and none after it', async () => {
    const ends: (() => void)[] = [];
    const { report, written, advance, clock } = bench(() => new Promise((resolve) => void ends.push(resolve)));
    report.scheduleWrite();
    await advance(50);
    report.scheduleWrite();
    const closed = report.close();
    await advance(0);
    expect(written).toHaveLength(1);
    ends[0]?.();
    await advance(0);
    expect(written).toHaveLength(2);
    ends[1]?.();
    await closed;
    report.scheduleWrite();
    expect(clock.pending).toBe(0);
  });
});
