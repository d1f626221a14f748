import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import type { AgentPodName } from '../../../../src/model/objects/agent-pod.ts';
import { NodeReport } from '../../../../src/agent/report/node-report.ts';
import type { ReportContent } from '../../../../src/agent/report/write-urgency.ts';
import type { NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

interface Bench {
  readonly clock: VirtualClock;
  /** Changes the content of the report, which acknowledges a newer version of the Node at each moment unless this sets it. */
  readonly set: (content: Partial<ReportContent>) => void;
  readonly report: NodeReport;
  readonly written: NodeState[];
  readonly warnings: string[];
  readonly advance: (milliseconds: number) => Promise<void>;
}

interface BenchOptions {
  readonly nodes?: number;
  readonly pod?: AgentPodName;
  readonly kubelet?: { reports: boolean };
  readonly random?: () => number;
}

function bench(
  write: (state: NodeState) => Promise<void> = async () => undefined,
  { nodes = 1, pod, kubelet = { reports: true }, random = () => 1 }: BenchOptions = {},
): Bench {
  const clock = new VirtualClock();
  const written: NodeState[] = [];
  const warnings: string[] = [];
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, error: ignore, warn: (_: object, message: string) => void warnings.push(message) };
  const writeNodeState = (state: NodeState): Promise<void> => {
    written.push(state);
    return write(state);
  };
  let changed: Partial<ReportContent> = {};
  const content = (): ReportContent => ({ sessions: [], differing: [], consumed: { Node: `${clock.now()}` }, ...changed });
  const set = (change: Partial<ReportContent>): void => void (changed = { ...changed, ...change });
  const report = new NodeReport(
    { writeNodeState, clock, random, log },
    {
      node: 'n1',
      content,
      nodes: () => nodes,
      kubeletReports: () => kubelet.reports,
      ...defined({ pod }),
    },
  );
  const advance = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    await setImmediate();
  };
  return { clock, set, report, written, warnings, advance };
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
      { kind: 'NodeState', metadata: { name: 'n1', namespace: '' }, updated: '2026-01-01T00:00:00.050Z', consumed: { Node: '50' } },
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

  test.each([
    [1, 5_000],
    [100, 10_000],
  ])(
    'in a cluster of %i nodes, which frontends were answered is written after %i ms at most, and more often never',
    async (nodes, pause) => {
      const { report, set, written, advance } = bench(undefined, { nodes, random: () => 1 });
      const checks = (...answered: string[]): Partial<ReportContent> => ({
        consumed: { Node: '1' },
        checks: { mode: 'passive', answered, failing: [] },
      });
      set(checks());
      report.scheduleWrite();
      await advance(50);
      for (let writes = 1; writes < 4; writes++) {
        expect(written).toHaveLength(writes);
        set(checks(`192.0.2.${writes} TCP 80`));
        report.scheduleWrite();
        await advance(50);
        await advance(pause - 51 - 50);
        expect(written).toHaveLength(writes);
        await advance(200);
      }
    },
  );

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
    expect(written[1]?.consumed).toEqual({ Node: `${clock.now()}` });
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

  test('nothing is written when the content is the same after a pass', async () => {
    const { report, set, written, advance } = bench();
    set({ consumed: { Service: '7' } });
    for (let pass = 0; pass < 20; pass++) {
      report.scheduleWrite();
      await advance(100);
    }
    expect(written).toHaveLength(1);
  });

  test('a cluster of 5,000 nodes spreads its acknowledgements of a change of all Nodes over 50 s', async () => {
    const { report, set, written, advance } = bench(undefined, { nodes: 5_000 });
    set({ consumed: { Node: '7' } });
    report.scheduleWrite();
    await advance(50);
    set({ consumed: { Node: '8' } });
    report.scheduleWrite();
    await advance(50);
    await advance(29_900);
    expect(written).toHaveLength(1);
    set({ problem: { code: 'AgentStopped', details: { node: 'n1' } } });
    report.scheduleWrite();
    await advance(50);
    expect(written).toHaveLength(2);
  });

  test('acknowledgements in a row leave half of the burst to other changes', async () => {
    const { report, set, written, advance } = bench();
    for (let change = 0; change < 100; change++) {
      report.scheduleWrite();
      await advance(50);
    }
    expect(written.length).toBeLessThanOrEqual(12);
    const before = written.length;
    for (const family of ['IPv4', 'IPv6'] as const) {
      set({ heldBack: [{ family, since: '', settled: false, reason: { code: 'NodeUnknown', details: { node: 'n1' } } }] });
      report.scheduleWrite();
      await advance(50);
    }
    expect(written.length).toBe(before + 2);
  });

  test('counts wait for the next interval, and a session that comes up does not', async () => {
    const { report, set, written, advance } = bench();
    set({ consumed: {}, sessions: [down] });
    report.scheduleWrite();
    await advance(50);
    set({ sessions: [{ ...down, state: 'Connect', since: '2026-01-01T00:00:05.000Z', lastError: 'connection refused' }] });
    report.scheduleWrite();
    await advance(1_000);
    expect(written).toHaveLength(1);
    set({ sessions: [{ ...down, state: 'Established' }] });
    report.scheduleWrite();
    await advance(50);
    expect(written).toHaveLength(2);
    set({ sessions: [{ ...down, state: 'Established', prefixesSent: 7 }] });
    report.scheduleWrite();
    await advance(29_999);
    expect(written).toHaveLength(2);
    await advance(1);
    expect(written.at(-1)?.sessions).toMatchObject([{ prefixesSent: 7 }]);
  });
});

describe('the report of an agent in a Pod', () => {
  const pod: AgentPodName = { namespace: 'herald-system', name: 'herald-agent-1', uid: 'u1' };

  test.each([3, 300, 5_000])('%i agents write less than 20 times a second in all while Services appear for half an hour', async (nodes) => {
    const agents = await followers(nodes);
    let version = 0;
    for (let second = 0; second < 1_800; second++) {
      version++;
      for (const { set, report, clock } of agents) {
        set({ consumed: { Service: `${version}` }, sessions: [{ ...down, state: 'Established', prefixesSent: version }] });
        report.scheduleWrite();
        clock.advance(1_000);
      }
      // The writes of all agents end.
      await setImmediate();
    }
    const each = agents.map(({ written }) => written.length - 1);
    const sum = each.reduce((total, one) => total + one, 0) / agents.length;
    expect((sum * nodes) / 1_800).toBeLessThan(20);
    // Each agent says again and again how far it is.
    expect(Math.min(...each)).toBeGreaterThan(0);
  });

  test('the first Service after ten quiet minutes does not make 5,000 agents write at the same time', async () => {
    const agents = await followers(5_000);
    const times: number[] = [];
    for (const { set, report, written, advance, clock } of agents) {
      await advance(600_000);
      set({ consumed: { Service: '8' } });
      report.scheduleWrite();
      const began = clock.now();
      while (written.length === 1) await advance(1_000);
      times.push((clock.now() - began) / 1_000);
    }
    // Of 40 agents, each stands for 125: they write over 500 s.
    for (const from of [0, 100, 200, 300, 400]) {
      const writing = times.filter((time) => time >= from && time < from + 100).length;
      expect(writing).toBeGreaterThan(0);
      expect((writing * 125) / 100).toBeLessThan(25);
    }
  });

  /** Forty of the agents of a cluster, each with another random number, which have written their first report. */
  async function followers(nodes: number): Promise<Bench[]> {
    return Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const agent = bench(undefined, { nodes, pod, random: () => (index + 0.5) / 40 });
        agent.set({ consumed: { Service: '7' } });
        agent.report.scheduleWrite();
        await agent.advance(50);
        return agent;
      }),
    );
  }

  test('no sign of life is written while the kubelet reports, and the Pod is named', async () => {
    const { report, set, written, advance } = bench(undefined, { pod });
    set({ consumed: {} });
    report.scheduleWrite();
    await advance(50);
    await advance(1_700_000);
    expect(written).toMatchObject([{ pod, updated: '2026-01-01T00:00:00.050Z' }]);
  });

  test('every half hour the same object is written again, in case it was deleted', async () => {
    const { report, set, written, advance } = bench(undefined, { pod });
    set({ consumed: {} });
    report.scheduleWrite();
    await advance(50);
    await advance(1_800_000);
    expect(written).toHaveLength(2);
    expect(written[1]).toEqual(written[0]);
  });

  test('a sign of life is written every half minute while the control plane does not hear of the kubelet', async () => {
    const kubelet = { reports: true };
    const { report, set, written, advance } = bench(undefined, { pod, kubelet });
    set({ consumed: {} });
    report.scheduleWrite();
    await advance(50);
    await advance(600_000);
    kubelet.reports = false;
    report.scheduleWrite();
    await advance(50);
    await advance(30_000);
    expect(written.map(({ updated }) => updated)).toEqual([
      '2026-01-01T00:00:00.050Z',
      '2026-01-01T00:10:00.100Z',
      '2026-01-01T00:10:30.100Z',
    ]);
    kubelet.reports = true;
    await advance(600_000);
    expect(written).toHaveLength(3);
  });

  test('a write that failed is repeated after half a minute', async () => {
    let failing = true;
    const { report, set, written, advance } = bench(
      async () => {
        if (failing) throw new Error('the API server is away');
      },
      { pod },
    );
    set({ consumed: {} });
    report.scheduleWrite();
    await advance(50);
    failing = false;
    await advance(30_000);
    await advance(600_000);
    expect(written).toHaveLength(2);
  });
});

const down: SessionStatus = {
  peer: 'tor1',
  address: '10.0.0.254',
  state: 'Active',
  since: '2026-01-01T00:00:00.000Z',
  localASN: 64512,
  peerASN: 64513,
  prefixesSent: 0,
};
