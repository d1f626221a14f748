import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { statusCommand } from '../../../../../src/cli/commands/tables/status-command.ts';
import { problemsOf } from '../../../../../src/explain/overview/problems.ts';
import { overviewOf } from '../../../../../src/explain/overview/overview.ts';
import { sessionReport } from '../../../../../src/explain/sessions/session-report.ts';
import type { ServiceProblem } from '../../../../../src/explain/overview/problem.ts';
import { reason } from '../../../../../src/model/reasons.ts';
import type { NodeState } from '../../../../../src/model/objects/node-state.ts';
import { cluster, metadata } from '../../../decisions/fixtures.ts';
import { inProcess } from '../../in-process.ts';

const now = Date.UTC(2026, 0, 1);
const names = ['n1', 'n2', 'n3'];
const routers = [
  { name: 'tor1-v4', peerAddress: '10.0.0.1', peerASN: 65101 },
  { name: 'tor1-v6', peerAddress: 'fd00:1::1', peerASN: 65101 },
  { name: 'tor2-v4', peerAddress: '10.0.0.2', peerASN: 65102 },
  { name: 'tor2-v6', peerAddress: 'fd00:2::1', peerASN: 65102 },
];
const snapshot = cluster({ peers: routers, nodes: names.map((name) => ({ name })) });

/** A report in which the named sessions are down. */
function state(name: string, down: readonly string[] = []): NodeState {
  const sessions = routers.map(({ name: peer, peerAddress, peerASN }) => {
    const of = { peer, address: peerAddress, since: '', localASN: 64512, peerASN, prefixesSent: 0 };
    return down.includes(peer) ? { ...of, state: 'Active' as const, lastError: 'no answer' } : { ...of, state: 'Established' as const };
  });
  return { kind: 'NodeState', metadata: metadata(name), updated: new Date(now).toISOString(), consumed: {}, sessions, differing: [] };
}

function objectsWith(states: readonly NodeState[]): string[] {
  const all = { ...snapshot, nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
  const overview = overviewOf({ snapshot: all, conditions: new Map(), objects: [], now });
  const { sessions } = sessionReport(all, now);
  return problemsOf({ unusable: [], services: new Map(), overview, sessions }).map(({ object, line }) => `${object}: ${line}`);
}

const tor1 = ['tor1-v4', 'tor1-v6'];

describe('the list of problems', () => {
  test('has one line for a router that is down, for all its nodes and families', () => {
    expect(objectsWith(names.map((name) => state(name, tor1)))).toEqual([
      expect.stringMatching(
        /^BGPPeer\/tor1-v4: Every session with tor1-v4 and tor1-v6 \(10\.0\.0\.1 and fd00:1::1\) is down, on 3 nodes: /,
      ),
    ]);
  });

  test('has one line for a BGPPeer that repeats another, as the reason of its sessions', () => {
    const twice = { ...routers[0], name: 'twice' };
    const doubled = cluster({ peers: [...routers, twice], nodes: [{ name: 'n1' }] });
    const all = { ...doubled, nodeStates: new Map([['n1', state('n1')]]) };
    const objects = [{ object: 'BGPPeer/twice', reason: reason('DuplicatePeer', { other: 'tor1-v4', address: '10.0.0.1' }) }];
    const overview = overviewOf({ snapshot: all, conditions: new Map(), objects, now });
    const { sessions } = sessionReport(all, now);
    const found = problemsOf({ unusable: [], services: new Map(), overview, sessions });
    expect(found.map(({ object, code }) => `${object} ${code}`)).toEqual(['BGPPeer/twice DuplicatePeer']);
  });

  test('has one line for each Service and reason of nodes, unless the Service has the problem itself', () => {
    const taken = reason('FrontendTaken', { frontend: '192.0.2.7:80/TCP', by: 'shop/first' });
    const port = reason('HealthCheckNotServed', { port: 31801, family: 'IPv4', why: 'the port is taken' });
    const differing = [
      { service: 'shop/ext', aspect: 'Programmed', reason: taken },
      { service: 'shop/web', aspect: 'Programmed', reason: taken },
      { service: 'shop/web', aspect: 'HealthCheck', reason: port },
      { service: 'shop/other', aspect: 'Announced', reason: reason('NodeDraining', { node: 'n1' }) },
    ] as const;
    const states = ['n1', 'n2'].map((name) => ({ ...state(name), differing }));
    const all = { ...snapshot, nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
    const overview = overviewOf({ snapshot: all, conditions: new Map(), objects: [], now });
    const services = new Map([['shop/web' as const, { code: 'FrontendTaken', line: 'Not served.' }]]);
    const found = problemsOf({ unusable: [], services, overview, sessions: [] });
    expect(found.map(({ object, code }) => `${object} ${code}`)).toEqual([
      'Node/n3 AgentSilent',
      'Service/shop/web FrontendTaken',
      'Service/shop/ext FrontendTaken',
      'Service/shop/web HealthCheckNotServed',
    ]);
    expect(found[3]?.line).toMatch(/^On n1 and n2: health-check node port 31801 is not served over IPv4/);
  });

  test('has one line for a node that has no session', () => {
    expect(
      objectsWith([
        state('n1'),
        state('n2'),
        state(
          'n3',
          routers.map(({ name }) => name),
        ),
      ]),
    ).toEqual([expect.stringMatching(/^Node\/n3: Every session of node n3 is down: /)]);
  });

  test('has one line for each BGPPeer when single sessions are down', () => {
    expect(objectsWith([state('n1', ['tor1-v4']), state('n2', ['tor1-v4']), state('n3')])).toEqual([
      expect.stringMatching(/^BGPPeer\/tor1-v4: The session with tor1-v4 is down on n1 and n2: /),
    ]);
  });

  test('begins with forty silent agents in one row, and has one row for the Services that follow from them', () => {
    const nodes = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const overview = overviewOf({ snapshot: cluster({ nodes: nodes.map((name) => ({ name })) }), conditions: new Map(), objects: [], now });
    const services = new Map(
      nodes.map((name) => [
        `shop/${name}` as const,
        { code: 'AgentSilent', line: `Announced, but not by every node: no agent reports for node "${name}".`, cause: `Node/${name}` },
      ]),
    );
    const found = problemsOf({ unusable: [{ object: 'pool.yaml', line: 'is wrong' }], services, overview, sessions: [] });
    expect(found.map(({ object, code, others = [] }) => `${object} ${code} ${others.length}`)).toEqual([
      'Node/n0 AgentSilent 39',
      'pool.yaml ObjectUnreadable 0',
      'Service/shop/n0 AgentSilent 39',
    ]);
  });

  test('has one row for all Services that wait for a full pool, whatever each could release', () => {
    const overview = overviewOf({ snapshot: cluster({}), conditions: new Map(), objects: [], now });
    const waiting = ['a', 'b', 'c'].map((name) => [
      `shop/${name}` as const,
      { code: 'PoolFull', line: `Not served: pool main is full. Release shop/${name}-old.`, cause: 'IPAddressPool/main' },
    ]);
    const services = new Map(waiting as [`shop/${string}`, ServiceProblem][]);
    expect(problemsOf({ unusable: [], services, overview, sessions: [] })).toMatchObject([
      { object: 'Service/shop/a', code: 'PoolFull', others: ['Service/shop/b', 'Service/shop/c'] },
    ]);
  });

  test('has one line for all nodes whose agents are silent, and none for their sessions', () => {
    expect(objectsWith([state('n1')])).toEqual([expect.stringMatching(/^Node\/n2: No agent reports for node "n2"\. Start the agent/)]);
  });

  test('leaves out a full pool when a Service waits for it, and lists it when the Service has another cause', () => {
    const full = { object: 'IPAddressPool/tiny', reason: reason('PoolFull', { pool: 'tiny', family: 'IPv4', total: '1' }) };
    const overview = { ...overviewOf({ snapshot: cluster({}), conditions: new Map(), objects: [], now }), objects: [full] };
    const objectsFor = (problem: ServiceProblem): string[] =>
      problemsOf({ unusable: [], services: new Map([['shop/web', problem]]), overview, sessions: [] }).map(({ object }) => object);
    const waits = { code: 'PoolFull', line: 'Not served', cause: 'IPAddressPool/tiny' };
    expect(objectsFor(waits)).toEqual(['Service/shop/web']);
    expect(objectsFor({ ...waits, cause: 'IPAddressPool/other' })).toEqual(['Service/shop/web', 'IPAddressPool/tiny']);
    expect(objectsFor({ ...waits, code: 'PoolDraining' })).toEqual(['Service/shop/web', 'IPAddressPool/tiny']);
  });

  test('do not exist when everything works', () => {
    expect(objectsWith(names.map((name) => state(name)))).toEqual([]);
  });
});

describe('herald status --problems', () => {
  test('lists each problem once, with exit status 3', async () => {
    const { code, stdout } = await inProcess(statusCommand, ['--source', 'examples/fabric', '--problems']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^Object .*Problem\n/);
    expect(stdout).toMatch(/^Node\/node1 and 2 more +AgentSilent +No agent reports/m);
    expect(stdout).not.toMatch(/BGPPeer/);
    const json = await inProcess(statusCommand, ['--source', 'examples/fabric', '--problems', '-o', 'json']);
    expect(json.code).toBe(3);
    expect(JSON.parse(json.stdout)).toMatchObject({
      problems: expect.arrayContaining([
        { object: 'Node/node1', code: 'AgentSilent', line: expect.any(String), others: ['Node/node2', 'Node/node3'] },
      ]),
    });
  });

  test('lists a full pool once, with the Service that waits for it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'herald-problems-'));
    const service = (name: string): string =>
      `apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: ${name} }\nspec: { type: LoadBalancer, loadBalancerClass: herald.dev/herald, ports: [{ port: 80 }] }\n`;
    const pool = 'apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: tiny }\nspec: { addresses: [192.0.2.1/32] }\n';
    const first = `${service('a')}status: { loadBalancer: { ingress: [{ ip: 192.0.2.1 }] } }\n`;
    writeFileSync(join(directory, 'shop.yaml'), [first, service('b'), pool].join('---\n'));
    const { stdout } = await inProcess(statusCommand, ['-f', directory, '--problems']);
    expect(stdout).toMatch(/^Service\/shop\/b +PoolFull /m);
    expect(stdout).not.toMatch(/^IPAddressPool/m);
    rmSync(directory, { recursive: true });
  });

  test('lists nothing, with exit status 0, when there are none', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'herald-problems-'));
    writeFileSync(join(directory, 'shop.yaml'), 'apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }\n');
    expect(await inProcess(statusCommand, ['-f', directory, '--problems'])).toMatchObject({ code: 0, stdout: 'No problems.\n' });
    rmSync(directory, { recursive: true });
  });
});
