import { describe, expect, test } from 'vitest';
import { ActiveProbes, type ProbeObservation, type ProbeTarget } from '../../../../src/agent/checks/active-probes.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { address } from '../../../../src/net/address.ts';
import { seededRandom } from '../../../../src/system/random.ts';
import type { ProbeOutcome } from '../../../../src/system/http/tcp-probe.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** A cluster in which every probe is answered at once, unless `outcomes` says otherwise. A `silent` one takes its full time. */
class Bed {
  readonly clock: VirtualClock;
  readonly outcomes = new Map<string, ProbeOutcome | 'error'>();
  readonly known = new Set<string>();
  /** The endpoints of the probes, in order, each with its time. */
  readonly probed: { readonly endpoint: string; readonly at: number }[] = [];
  readonly seen: ProbeObservation[] = [];
  open = 0;
  mostOpen = 0;
  targets: readonly ProbeTarget[];
  nodes: readonly string[] = [];
  readonly probes: ActiveProbes;

  constructor(targets: readonly ProbeTarget[], { node = 'n1', clock = new VirtualClock() } = {}) {
    this.targets = targets;
    this.clock = clock;
    this.probes = new ActiveProbes(
      {
        clock,
        random: seededRandom(7),
        probe: ({ address: host, port }, { onOutcome, onClosed }) => {
          const endpoint = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
          this.probed.push({ endpoint, at: clock.now() });
          this.mostOpen = Math.max(this.mostOpen, ++this.open);
          const outcome = this.outcomes.get(endpoint) ?? 'answered';
          const delay = outcome === 'silent' ? limits.probeAnswerMilliseconds : 1;
          const finish = (how: ProbeOutcome | undefined): void => {
            onOutcome(how);
            this.open--;
            onClosed();
          };
          const cancel = clock.after(delay, () => finish(outcome === 'error' ? undefined : outcome));
          return () => {
            cancel();
            finish(undefined);
          };
        },
      },
      {
        node,
        nodes: () => this.nodes,
        targets: () => this.targets,
        isKnown: (_, endpoint) => this.known.has(endpoint),
        onOutcome: (observation) => this.seen.push(observation),
      },
    );
  }

  timesOf(endpoint: string): number[] {
    return this.probed.filter((probe) => probe.endpoint === endpoint).map(({ at }) => at);
  }
}

const target = (at: string, local = false): ProbeTarget => ({ address: address(at), port: 8080, local });
const several = (count: number): ProbeTarget[] => Array.from({ length: count }, (_, at) => target(`10.0.${at >> 8}.${at & 255}`));

describe('probes', () => {
  test('each outcome is an observation of the node itself', () => {
    const bed = new Bed([target('10.0.0.1'), target('fd00::1'), target('10.0.0.2'), target('10.0.0.3'), target('10.0.0.1')]);
    bed.outcomes.set('[fd00::1]:8080', 'refused').set('10.0.0.2:8080', 'silent').set('10.0.0.3:8080', 'error');
    bed.probes.start();
    bed.clock.advance(6_000);
    expect(bed.seen.toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1))).toEqual([
      { endpoint: '10.0.0.1:8080', outcome: 'answered', own: true },
      { endpoint: '10.0.0.2:8080', outcome: 'silent', own: true },
      { endpoint: '[fd00::1]:8080', outcome: 'refused', own: true },
    ]);
  });

  test('an endpoint of which clients tell is left alone, and probed once they no longer do', () => {
    const bed = new Bed([target('10.0.0.1')]);
    bed.known.add('10.0.0.1:8080');
    bed.probes.start();
    bed.clock.advance(600_000);
    expect(bed.probed).toEqual([]);
    bed.known.clear();
    bed.clock.advance(limits.probeMilliseconds + limits.probeTurnMilliseconds);
    expect(bed.probed.length).toBe(1);
  });

  test('an endpoint that answers is probed every two minutes, one that fails at longer and longer intervals', () => {
    const bed = new Bed([target('10.0.0.1'), target('10.0.0.2')]);
    bed.outcomes.set('10.0.0.2:8080', 'refused');
    bed.probes.start();
    bed.clock.advance(3_600_000);
    const gaps = (endpoint: string): number[] =>
      bed
        .timesOf(endpoint)
        .map((at, index, all) => at - (all[index - 1] ?? 0))
        .slice(1);
    for (const gap of gaps('10.0.0.1:8080')) {
      expect(gap).toBeGreaterThanOrEqual(0.75 * limits.probeMilliseconds);
      expect(gap).toBeLessThanOrEqual(limits.probeMilliseconds + 1_100);
    }
    const failing = gaps('10.0.0.2:8080');
    expect(failing[0]).toBeLessThanOrEqual(limits.probeRetryMilliseconds + 1_100);
    expect(failing[2]).toBeGreaterThan(2 * limits.probeRetryMilliseconds);
    expect(Math.max(...failing)).toBeLessThanOrEqual(limits.probeRetryMaximumMilliseconds + 1_100);
    expect(failing.at(-1)).toBeGreaterThan(0.7 * limits.probeRetryMaximumMilliseconds);
  });

  test('a node opens five connections a second, and has at most twenty open', () => {
    const bed = new Bed(several(1_000));
    for (const { address: of } of bed.targets)
      bed.outcomes.set(`10.0.${Number(of.value >> 8n) & 255}.${Number(of.value & 255n)}:8080`, 'silent');
    bed.probes.start();
    bed.clock.advance(60_000);
    expect(bed.mostOpen).toBeLessThanOrEqual(limits.openProbes);
    expect(bed.probed.length).toBeLessThanOrEqual(5 * 61);
    expect(bed.probed.length).toBeGreaterThan(200);
    bed.probes.stop();
    expect([bed.open, bed.clock.pending]).toEqual([0, 0]);
  });

  test('new and failed endpoints come before others that are due', () => {
    // So many that some always wait.
    const bed = new Bed(several(1_000));
    bed.outcomes.set('10.0.0.9:8080', 'refused');
    bed.probes.start();
    bed.clock.advance(400_000);
    const before = bed.probed.length;
    bed.targets = [...bed.targets, target('172.16.0.1')];
    bed.probes.targetsChanged();
    bed.clock.advance(3_000);
    expect(bed.probed.slice(before).map(({ endpoint }) => endpoint)).toContain('172.16.0.1:8080');
    expect(bed.timesOf('10.0.0.9:8080').length).toBeGreaterThanOrEqual(5);
    expect(bed.timesOf('10.0.1.9:8080').length).toBeLessThanOrEqual(2);
  });

  test('an endpoint that was removed is probed no more, and its outcome does not count', () => {
    const bed = new Bed([target('10.0.0.1')]);
    bed.outcomes.set('10.0.0.1:8080', 'silent');
    bed.probes.start();
    bed.clock.advance(2_000);
    expect(bed.open).toBe(1);
    bed.targets = [];
    bed.probes.targetsChanged();
    bed.clock.advance(600_000);
    expect([bed.seen, bed.probed.length]).toEqual([[], 1]);
  });
});

describe('a cluster', () => {
  const names = Array.from({ length: 40 }, (_, at) => `node-${at}`);
  /** Returns for each endpoint the nodes that probe it, of so many nodes. */
  function probers(nodes: readonly string[], targets: readonly ProbeTarget[]): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const node of nodes) {
      const bed = new Bed(targets, { node });
      bed.nodes = nodes;
      bed.probes.start();
      bed.clock.advance(60_000);
      bed.probes.stop();
      for (const endpoint of new Set(bed.probed.map((probe) => probe.endpoint)))
        found.set(endpoint, [...(found.get(endpoint) ?? []), node]);
    }
    return found;
  }

  test('probes each endpoint from five nodes, and the nodes share the work', () => {
    const found = probers(names, several(100));
    expect(found.size).toBe(100);
    for (const nodes of found.values()) expect(nodes.length).toBe(limits.probingNodes);
    const work = names.map((name) => [...found.values()].filter((nodes) => nodes.includes(name)).length);
    expect(Math.max(...work)).toBeLessThan(30);
  });

  test('of few nodes probes from all of them, and a pod from its own node anyway', () => {
    for (const nodes of probers(names.slice(0, 4), several(10)).values()) expect(nodes.length).toBe(4);
    for (const nodes of probers(names, [target('10.0.0.1', true)]).values()) expect(nodes.length).toBe(40);
  });

  test('that loses a node moves only its endpoints', () => {
    const before = probers(names, several(40));
    const after = probers(names.slice(1), several(40));
    for (const [endpoint, nodes] of before) {
      const kept = nodes.filter((name) => name !== names[0]);
      expect(after.get(endpoint)).toEqual(expect.arrayContaining(kept));
    }
  });
});
