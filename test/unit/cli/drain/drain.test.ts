import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { drainCommand } from '../../../../src/cli/drain/drain-command.ts';
import type { NodeDrainReport } from '../../../../src/model/objects/node-state.ts';
import { refuse } from '../../kube/fake-api-server.ts';
import { DrainBed, drainAnnotation, nodeStates } from './drain-fixture.ts';
import { inProcess } from '../in-process.ts';
import { discard, scratch, type Outcome } from '../program.ts';

const since = '2026-01-01T00:00:00Z';

let bed: DrainBed;
beforeEach(async () => {
  bed = await DrainBed.start();
});
afterEach(() => bed.stop());

const at = (phase: NodeDrainReport['phase'], rest: Partial<NodeDrainReport> = {}): NodeDrainReport => ({ phase, since, kept: 0, ...rest });
const written = (value: string | null): object => ({
  path: '/api/v1/nodes/node1',
  body: { metadata: { annotations: { [drainAnnotation]: value } } },
});
const mark = (annotations: Record<string, string>, spec: object = {}): void =>
  bed.cluster.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1', annotations } as never, spec });
/** The agent's reports, one for each read; the last one stays. */
const telling =
  (...reports: readonly NodeDrainReport[]) =>
  (look: number): void =>
    bed.report('node1', look === 0 ? {} : { drain: reports[Math.min(look, reports.length) - 1] ?? at('Drained') });

describe('herald drain', () => {
  test("drain annotates the Node and prints the agent's progress until no connection is left", async () => {
    const { code, stdout, stderr } = await bed.drain(
      ['node1'],
      telling(
        at('Draining'),
        at('Withdrawn'),
        at('Withdrawn', { connections: 12 }),
        at('Withdrawn', { connections: 1 }),
        at('Drained', { connections: 0 }),
      ),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'herald.dev/drain: "true" is written to the Node',
      'routes to tor1-v4, tor1-v6, tor2-v4, tor2-v6 carry GRACEFUL_SHUTDOWN: routers have 10 s to choose other routes',
      'all routes are withdrawn; connections that still arrive are forwarded, for 300 s at most',
      '12 connections are left',
      '1 connection is left',
      'drained: no connection is left',
      '',
    ]);
    expect(bed.cluster.server.patches).toEqual([written('true')]);
  });

  test('drain names peers without a session, and connections that the deadline cuts off', async () => {
    const { stdout } = await bed.drain(['node1'], (look) => {
      const drain = look === 1 ? at('Draining') : at('Drained', { connections: 3 });
      bed.report('node1', look === 0 ? {} : { drain, down: ['tor2-v4'] });
    });
    expect(stdout).toContain('routes to tor1-v4, tor1-v6, tor2-v6 carry GRACEFUL_SHUTDOWN; no session with tor2-v4 (Active): routers');
    expect(stdout).toContain('all routes are withdrawn');
    expect(stdout).toContain('drained: the 300 s are over, 3 connections are left');
  });

  test('drain ignores reports from before the agent knew the request', async () => {
    bed.report('node1', { drain: at('Drained', { connections: 0 }) });
    const old = bed.cluster.server.version;
    const { code, stdout } = await bed.drain(['node1'], (look) => {
      if (look < 3) bed.report('node1', { drain: at('Drained', { connections: 0 }), consumed: old });
      else
        bed.report('node1', {
          drain: at(look < 5 ? 'Draining' : 'Drained', { since: '2026-01-01T00:01:00Z', connections: 0 }),
          consumed: old,
        });
    });
    expect(code).toBe(0);
    expect(bed.looks).toBeGreaterThanOrEqual(5);
    expect(stdout).toContain('carry GRACEFUL_SHUTDOWN');
  });

  test('a timeout or Ctrl-C exits with 4 and says that the drain goes on', async () => {
    const late = await bed.drain(['node1', '--timeout', '20s'], telling(at('Draining')));
    expect(late.code).toBe(4);
    expect(late.stdout).toContain(
      'not done after 20 s, phase Draining: the drain goes on; herald drain node1 waits for it, --uncordon ends it',
    );
    const stop = new AbortController();
    const stopped = await bed.drain(
      ['node1', '-o', 'json'],
      (look) => {
        telling(at('Withdrawn', { connections: 2 }))(look + 1);
        if (look === 2) stop.abort('SIGINT');
      },
      { stopped: stop.signal },
    );
    expect(stopped.code).toBe(4);
    expect(JSON.parse(stopped.stdout)).toMatchObject({
      result: 'interrupted',
      written: false,
      drain: { phase: 'Withdrawn', connections: 2 },
    });
  });

  test('drain retries an unreachable API server, and ends when it refuses', async () => {
    const { server } = bed.cluster;
    const away = await bed.drain(['node1'], (look) => {
      telling(at('Draining'), at('Draining'), at('Drained', { connections: 0 }))(look);
      if (look === 1) server.next(...[1, 2].map(() => (response: Parameters<typeof refuse>[0]) => refuse(response, 503, 'starting')));
    });
    expect(away.code).toBe(0);
    expect(away.stdout.match(/the API server answered 503: starting: asking again/g)).toHaveLength(1);
    const refused = await bed.drain(['node1'], (look) => {
      telling(at('Draining'))(look + 1);
      if (look === 1) server.forbidden.add(nodeStates);
    });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('403') });
  });

  test('--wait=false requests the drain and ends; -o json prints one object, progress goes to standard error', async () => {
    const { code, stdout, stderr } = await bed.drain(['node1', '--wait=false', '-o', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      node: 'node1',
      action: 'drain',
      result: 'asked',
      written: true,
      forecast: { announces: 2, peers: ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6'], lastNextHops: [] },
    });
    expect(stderr).toBe('herald.dev/drain: "true" is written to the Node\n');
    expect(bed.looks).toBe(0);
  });

  test('--dry-run says what the node announces, and writes nothing', async () => {
    const { code, stdout } = await bed.drain(['node1', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'node1 announces 2 Services to tor1-v4, tor1-v6, tor2-v4, tor2-v6\nanother node announces each of them as well\n',
    );
    expect(stdout).toContain('"true" would be written; nothing was (--dry-run)');
    expect(bed.cluster.server.methods).toEqual(new Set(['GET']));
  });

  test('drain waits for a drain that is requested already, without writing it again', async () => {
    mark({ [drainAnnotation]: 'true' });
    const { code, stdout } = await bed.drain(['node1'], () => bed.report('node1', { drain: at('Drained', { connections: 0 }) }));
    expect(code).toBe(0);
    expect(stdout).toContain('node1 is asked to drain already');
    expect(bed.cluster.server.patches).toEqual([]);
  });
});

describe('drain of a last next hop', () => {
  beforeEach(() => bed.leaveAlone());

  test('drain refuses with exit status 3, names the Service, and writes nothing', async () => {
    for (const words of [['node1'], ['node1', '--dry-run'], ['node1', '--wait=false']]) {
      const { code, stdout } = await bed.drain(words);
      expect(code).toBe(3);
      expect(stdout).toContain(
        'refused, and nothing was written: no other node announces 1 Service of node1\n  shop/ledger: 198.51.100.11\n',
      );
      expect(stdout).toContain('fix: ');
    }
    const json = await bed.drain(['node1', '-o', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      result: 'refused',
      written: false,
      forecast: { lastNextHops: [{ service: 'shop/ledger', addresses: ['198.51.100.11'] }] },
    });
    expect(bed.cluster.server.methods).toEqual(new Set(['GET']));
  });

  test('--keep-last restores routes that a forced drain has withdrawn', async () => {
    mark({ [drainAnnotation]: 'force' });
    const story = (): void => bed.report('node1', { drain: at('Drained', { connections: 0 }) });
    expect((await bed.drain(['node1'], story)).code).toBe(0);
    expect(bed.cluster.server.patches).toEqual([]);
    expect((await bed.drain(['node1', '--keep-last'], telling(at('Settled', { kept: 1 })))).code).toBe(0);
    expect(bed.cluster.server.patches).toEqual([written('true')]);
  });

  test('a Service that the node does not announce does not stop the drain', async () => {
    expect((await bed.drain(['node2', '--wait=false'])).code).toBe(0);
  });

  test('a neighbor without a session or without a report does not count as a next hop', async () => {
    for (const node of ['node2', 'node3']) bed.report(node, { down: ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6'] });
    expect((await bed.drain(['node1'])).stdout).toContain('announces 2 Services of node1');
    bed.report('node2', { ageSeconds: 3600 });
    expect((await bed.drain(['node1'])).code).toBe(3);
    bed.report('node2');
    expect((await bed.drain(['node1'])).stdout).toContain('announces 1 Service of node1');
  });

  test('--keep-last drains the node of everything else, and ends', async () => {
    const { code, stdout } = await bed.drain(['node1', '--keep-last'], telling(at('Draining'), at('Settled', { kept: 1 })));
    expect(code).toBe(0);
    expect(stdout).toContain('no other node announces 1 Service: their routes stay\n  shop/ledger: 198.51.100.11\n');
    expect(stdout).toContain('the other routes are withdrawn; those of 1 Service stay, as no other node announces them');
    expect(stdout).toContain('do not remove the node yet');
    expect(bed.cluster.server.patches).toEqual([written('true')]);
    // A second time, after its pods were moved: nothing is refused, and the command waits for the rest.
    const rest = await bed.drain(
      ['node1'],
      telling(at('Settled', { kept: 1 }), at('Settled', { kept: 1 }), at('Drained', { connections: 0 })),
    );
    expect(rest.code).toBe(0);
    expect(rest.stdout).toContain('drained: no connection is left');
  });

  test('--force withdraws the last route with a warning', async () => {
    const dry = await bed.drain(['node1', '--force', '--dry-run']);
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringContaining('no other node announces 1 of them, which would become unreachable'),
    ]);
    const { code } = await bed.drain(['node1', '--force'], telling(at('Drained', { connections: 0 })));
    expect(code).toBe(0);
    expect(bed.cluster.server.patches).toEqual([written('force')]);
  });
});

describe('herald drain --uncordon', () => {
  const all = 99;
  beforeEach(() => {
    mark({ [drainAnnotation]: 'true', other: 'stays' });
    bed.report('node1', { drain: at('Drained', { connections: 0 }) });
  });

  test('--uncordon removes the annotation and waits until all routes are announced again', async () => {
    const { code, stdout } = await bed.drain(['node1', '--uncordon'], (look) => {
      if (look < 2) bed.report('node1', { drain: at('Drained'), consumed: '1' });
      else bed.report('node1', { sent: look < 4 ? 0 : all });
    });
    expect(code).toBe(0);
    expect(bed.looks).toBeGreaterThanOrEqual(4);
    expect(stdout).toMatch(
      /^herald\.dev\/drain is removed from the Node\nnot everything is announced yet: tor1-v4: 0 of \d routes?, .*\nannounced again: tor1-v4: 99 of/,
    );
    expect(bed.cluster.server.patches).toEqual([written(null)]);
  });

  test('--undo equals --uncordon, and a node that is not drained is not written', async () => {
    expect((await bed.drain(['node1', '--undo', '--wait=false'])).stdout).toBe('herald.dev/drain is removed from the Node\n');
    const again = await bed.drain(['node1', '--undo'], () => bed.report('node1', { sent: all, down: ['tor1-v4'] }));
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/^node1 has no annotation herald\.dev\/drain\nannounced again: tor1-v4: Active, /);
    expect(bed.cluster.server.patches).toHaveLength(1);
  });

  test('--uncordon waits while the node has no session', async () => {
    const down = ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6'];
    const { code, stdout } = await bed.drain(['node1', '--uncordon', '--timeout', '10s'], (look) =>
      bed.report('node1', look < 1 ? {} : { down }),
    );
    expect(code).toBe(4);
    expect(stdout).toContain('not everything is announced yet: tor1-v4: Active');
  });

  test('--uncordon ends when the expected routes change, even if the agent reports nothing new', async () => {
    const { code, stdout } = await bed.drain(['node1', '--uncordon', '--timeout', '30s'], (look) => {
      if (look === 1) bed.report('node1', { sent: 2 });
      if (look === 3) for (const name of ['web', 'ledger']) bed.cluster.edit(name, () => ({ status: { loadBalancer: {} } }));
    });
    expect(stdout).toMatch(/not everything is announced yet: tor1-v4: 2 of 4 routes/);
    expect(code).toBe(0);
  });

  test('--uncordon does not remove a taint', async () => {
    const config = { spec: { defaultClass: true, nodeDrain: { taint: 'example.com/off' } } };
    bed.cluster.put({ apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, ...config });
    mark({}, { taints: [{ key: 'example.com/off', effect: 'NoSchedule' }] });
    const { code, stderr } = await bed.drain(['node1', '--uncordon']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('kubectl taint node node1 example.com/off-')]);
    const drained = await bed.drain(['node1'], () => bed.report('node1', { drain: at('Drained', { connections: 0 }) }));
    expect([drained.code, bed.cluster.server.patches]).toEqual([0, []]);
  });
});

describe('drain without any write', () => {
  afterEach(() => expect(bed.cluster.server.patches).toEqual([]));

  test('drain reports an unknown Node, and a Node whose agent is silent', async () => {
    expect(await bed.drain(['node9'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no valid Node node9 in the cluster at'),
    });
    bed.report('node1', { ageSeconds: 600 });
    const { code, stderr } = await bed.drain(['node1']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/nothing was written, because no agent would act on it\..*\n.*fix: [^]*--wait=false/),
    ]);
  });

  test('drain reports what the caller may not read or write', async () => {
    bed.cluster.server.forbidden.add('/api/v1/nodes/node1');
    const denied = await bed.drain(['node1']);
    expect([denied.code, denied.stderr]).toEqual([1, expect.stringMatching(/nothing was written: .*403.*ClusterRole herald-drain/)]);
    bed.cluster.server.forbidden.add('/apis/discovery.k8s.io/v1/endpointslices');
    const blind = await bed.drain(['node1', '--force']);
    expect([blind.code, blind.stderr]).toEqual([
      1,
      expect.stringContaining('not read: endpointslices.discovery.k8s.io: you may not list them'),
    ]);
  });

  test('drain reports contradicting options and invalid times', async () => {
    for (const words of [
      ['node1', '--force', '--keep-last'],
      ['node1', '--undo', '--force'],
      ['node1', '--uncordon', '--keep-last'],
      ['node1', '--timeout', '10'],
      ['node1', '--timeout', '25h'],
      ['node1', '--wait', 'maybe'],
      [],
    ])
      expect([words, (await bed.drain(words)).code]).toEqual([words, 64]);
  });
});

describe('herald drain of a directory', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await scratch('10-cluster.yaml', '20-herald.yaml');
    await mkdir(join(directory, '.herald/nodes'), { recursive: true });
    await report();
  });
  afterEach(() => discard(directory));

  const report = (drain?: NodeDrainReport): Promise<void> => {
    const status = { updated: bed.clock.date().toISOString(), consumed: {}, sessions: [], differing: [], drain };
    const state = { apiVersion: 'herald.dev/v1alpha1', kind: 'NodeState', metadata: { name: 'node1' }, status };
    return writeFile(join(directory, '.herald/nodes/node1.yaml'), stringify(state));
  };
  const edit = async (from: string, to: string): Promise<void> => {
    const file = join(directory, '10-cluster.yaml');
    const text = await readFile(file, 'utf8');
    expect(text).toContain(from);
    await writeFile(file, text.replace(from, to));
  };
  const plain = '{ name: node1, labels: { rack: a } }';
  const asked = '{ name: node1, labels: { rack: a }, annotations: { herald.dev/drain: "true" } }';
  const herald = (...words: readonly string[]): Promise<Outcome> =>
    inProcess(drainCommand, ['node1', '--source', directory, ...words], { clock: bed.clock });

  test('drain says what to write into which manifest, and waits until the node is drained', async () => {
    const before = await readFile(join(directory, '10-cluster.yaml'), 'utf8');
    const only = await herald('--wait=false');
    expect(only).toMatchObject({ code: 0, stderr: '' });
    expect(only.stdout).toMatch(
      /^write annotations: \{ herald\.dev\/drain: "true" \} into metadata of Node node1, .*\/10-cluster\.yaml:\d+\n$/,
    );
    expect(await readFile(join(directory, '10-cluster.yaml'), 'utf8')).toBe(before);

    // A report from before the request does not count.
    await report(at('Drained', { connections: 0 }));
    let turns = 0;
    const { code, stdout } = await bed.whileTimePasses(herald(), async () => {
      if (++turns === 20) await edit(plain, asked);
    });
    expect(code).toBe(0);
    expect(turns).toBeGreaterThan(20);
    expect(stdout).toContain('drained: no connection is left');
  });

  test('--uncordon says what to remove from which manifest', async () => {
    await edit(plain, asked);
    const { code, stdout } = await herald('--undo', '--wait=false');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^remove the annotation herald\.dev\/drain from metadata of Node node1, .*:\d+\n$/),
    ]);
  });
});
