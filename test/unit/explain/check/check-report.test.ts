import { describe, expect, test } from 'vitest';
import { checkReport } from '../../../../src/explain/check/check-report.ts';
import type { CheckInput, CheckReport } from '../../../../src/explain/check/facts.ts';
import { renderCheck } from '../../../../src/explain/check/render-check.ts';
import type { CheckLine, NodeProbe } from '../../../../src/live/contract.ts';

const address = '198.51.100.10:80';
const endpoint = (n: number): string => `10.244.${n}.10:8080`;
const names: Readonly<Record<string, string>> = { '10.0.0.12': 'node2' };
const nameOf = (text: string): string | undefined => names[text];

function probe(to: string, result: NodeProbe['result'] = 'answered', more: Partial<NodeProbe> = {}): NodeProbe {
  const what = to === address ? 'address' : 'endpoint';
  return { type: 'probe', what, protocol: 'TCP', to, result, milliseconds: result === 'silent' ? 3000 : 1.25, ...more };
}

const end: CheckLine = { type: 'end', probes: 1 };
const good = [probe(address), probe(endpoint(1)), end];

function report(nodes: Readonly<Record<string, readonly CheckLine[]>>, changes: Partial<CheckInput> = {}): CheckReport {
  return checkReport(
    {
      service: 'shop/web',
      nodes: Object.entries(nodes).map(([node, lines]) => ({ node, lines })),
      expected: Object.keys(nodes),
      external: new Set([address]),
      routers: [],
      received: [],
      unchecked: [],
      hasEndpoints: true,
      ...changes,
    },
    nameOf,
  );
}

describe('the verdict', () => {
  test('says what every node and the client reached', () => {
    const { verdict, outcome } = report({ node1: good, node2: good }, { client: [probe(address)] });
    expect([outcome, verdict]).toEqual(['passed', 'Every node reaches every endpoint and 198.51.100.10:80/TCP; the client here too.']);
  });

  test('says nothing of a client that was not tried, and of addresses that were not', () => {
    expect(report({ node1: [probe(endpoint(1)), end] }).verdict).toBe('node1 reaches every endpoint.');
    const inside = [probe('10.96.0.1:80', 'answered', { what: 'address' }), end];
    expect(report({ node1: inside }).verdict).toBe("node1 reaches the Service's addresses inside the cluster.");
  });

  test('names nodes that were not checked, or not to the end', () => {
    const missing = report({ node1: good }, { expected: ['node1', 'node2'] });
    expect([missing.outcome, missing.verdict]).toEqual([
      'incomplete',
      'node1 reaches every endpoint and 198.51.100.10:80/TCP; node2 was not checked.',
    ]);
    const cut = report({ node1: good, node2: [probe(address)] });
    expect([cut.outcome, cut.checked]).toEqual(['incomplete', ['node1']]);
    expect(cut.unchecked).toEqual([{ what: 'the rest of node2', why: 'its answer ended early' }]);
    expect(cut.verdict).not.toMatch(/every node/i);
  });

  test('names the node that fails, the endpoint and the last hop', () => {
    const hops = [{ ttl: 1, from: '10.0.0.12' }];
    const { verdict, outcome } = report({
      node1: [...good, probe(endpoint(2), 'silent', { on: 'node2', hops })],
      node2: [...good, probe(endpoint(2))],
    });
    expect([outcome, verdict]).toEqual([
      'failed',
      'node1 does not reach 10.244.2.10:8080/TCP on node2 (no answer within 3 s; packets get as far as node2, and nothing is heard from behind it).',
    ]);
  });

  test('folds nodes and endpoints that fail alike, and counts further failures', () => {
    const bad = [1, 2, 3].map((n) => probe(endpoint(n), 'refused'));
    expect(report({ node1: [...bad, end], node2: [...bad, end] }).verdict).toBe(
      'No node reaches 3 endpoints, such as 10.244.1.10:8080/TCP (refused).',
    );
    const various = (['refused', 'unreachable', 'silent'] as const).map((result, n) =>
      probe(endpoint(n), result, { error: 'EHOSTUNREACH' }),
    );
    expect(report({ node1: [...various, end] }, { client: [probe(address, 'silent')] }).verdict).toMatch(/; and 1 more below\.$/);
  });

  test('of UDP that stays silent claims nothing', () => {
    const udp = { protocol: 'UDP' } as const;
    const silent = report({ node1: [probe(address, 'silent', udp), end] });
    expect([silent.outcome, silent.verdict]).toEqual([
      'passed',
      '198.51.100.10:80/UDP refused nothing and answered nothing, which UDP need not do: not known.',
    ]);
    expect(report({ node1: [...good, probe(endpoint(1), 'silent', udp)] }).verdict).toMatch(
      /^node1 reaches every TCP endpoint and .*not known\.$/,
    );
    expect(report({ node1: [probe(address, 'refused', udp), end] }).outcome).toBe('failed');
  });

  test('of a Service without endpoints is a failure', () => {
    const { verdict, outcome } = report({ node1: [probe(address, 'refused'), end] }, { hasEndpoints: false });
    expect([outcome, verdict]).toEqual([
      'failed',
      'The Service has no endpoint that takes connections; node1 does not reach 198.51.100.10:80/TCP (refused).',
    ]);
  });

  test('of nothing tried says so', () => {
    expect(report({}, { expected: ['node1'] })).toMatchObject({ outcome: 'unchecked', verdict: 'Nothing was checked.' });
  });

  test('of routers names those without a route', () => {
    const routers = [
      { router: 'tor1', prefix: '198.51.100.10/32', answer: { has: 'best', nextHops: ['10.1.0.11'] } },
      { router: 'tor2', prefix: '198.51.100.10/32', answer: { has: 'none' } },
      { router: 'tor3', prefix: '198.51.100.10/32', answer: { has: 'failed', why: 'status 255' } },
    ] as const;
    const { verdict, outcome } = report({ node1: good }, { routers });
    expect([outcome, verdict]).toEqual(['failed', 'tor2 has no route to 198.51.100.10/32.']);
    expect(report({ node1: good }, { routers: routers.filter(({ answer }) => answer.has !== 'none') }).outcome).toBe('passed');
  });

  test('of a router whose next hop is no Node of the cluster says that another speaker announces the prefix', () => {
    const answer = { has: 'best', nextHops: ['10.1.0.11', '10.1.0.99'] } as const;
    const of = (router: string) => ({ router, prefix: '198.51.100.10/32', answer });
    const routers = [{ ...of('tor1'), foreign: ['10.1.0.99'] }, of('tor2')];
    const failed = report({ node1: good }, { routers });
    expect([failed.outcome, failed.verdict]).toEqual([
      'failed',
      'tor1 sends 198.51.100.10/32 to 10.1.0.99, no Node of this cluster: another speaker announces it.',
    ]);
    const lines = renderCheck(failed, nameOf, false).join('\n');
    expect(lines).toMatch(
      / {2}tor1: .* by 10\.1\.0\.11 and 10\.1\.0\.99\n {4}10\.1\.0\.99: no Node of this cluster.*\n {4}fix: take the address out/,
    );
    expect(lines).toMatch(/ {2}tor2: .* by 10\.1\.0\.11 and 10\.1\.0\.99\n(?! {4})/);
  });

  test('of a size: a hop that says what it passes is no failure, silent loss is, and no echo at all proves nothing', () => {
    const size = (result: NodeProbe['result'], more = {}) => [
      ...good,
      probe('10.244.1.10', result, { what: 'size', protocol: 'ICMP', size: 1500, ...more }),
    ];
    const narrow = report({ node1: size('tooBig', { by: '10.0.0.12', mtu: 1400 }) });
    expect(narrow.outcome).toBe('passed');
    expect(narrow.verdict).toContain('; on the way from node1 to 10.244.1.10, 1500 octets, node2 passes at most 1400 octets, and says so');
    expect(report({ node1: size('lost') })).toMatchObject({
      outcome: 'failed',
      verdict: 'Large packets from node1 to 10.244.1.10, 1500 octets are lost without an ICMP error; small packets are answered.',
    });
    expect(report({ node1: size('unknown') }).verdict).toBe('node1 reaches every endpoint and 198.51.100.10:80/TCP.');
  });
});

test('the matrix shows failures first, folds alike nodes, and fits on one screen', () => {
  const endpoints = Array.from({ length: 100 }, (_, n) => probe(endpoint(n)));
  const nodes = Object.fromEntries(['node1', 'node2', 'node3'].map((node) => [node, [probe(address), ...endpoints, end]]));
  const lines = renderCheck(report({ ...nodes, node2: [probe(address, 'refused'), ...endpoints, end] }), nameOf, false);
  // The width of a column is not what is tested.
  expect(lines.slice(0, 6).map((line) => line.replaceAll(/ {2,}/g, '  '))).toEqual([
    'node2 does not reach 198.51.100.10:80/TCP (refused).',
    '',
    'From  To  Result  Time',
    'node2  198.51.100.10:80/TCP  refused  1.3 ms',
    'node1 and node3  198.51.100.10:80/TCP  answered  1.3 ms',
    'every node  100 endpoints: 10.244.0.10:8080/TCP ...  answered  1.3 ms',
  ]);
  expect(lines.length).toBeLessThan(12);
  expect(renderCheck(report(nodes), nameOf, true).length).toBeGreaterThan(100);
});
