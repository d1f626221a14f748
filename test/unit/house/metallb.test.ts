import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';
import { metallbPage } from '../../../scripts/generate/metallb-page.ts';
import { metallbBehaviour, metallbEvents, metallbMetrics } from '../../../scripts/generate/metallb-tables.ts';
import { eventTable } from '../../../src/controller/events/event-table.ts';
import { kinds } from '../../../src/model/kinds.ts';
import { metallbKinds } from '../../../src/model/metallb/kinds.ts';
import { differences, type Case } from '../../differential/metallb/differences.ts';
import { explain } from '../../differential/metallb/explain-differences.ts';
import type { WantedService } from '../../differential/metallb/objects.ts';
import { outcomeOf } from '../../differential/metallb/outcome.ts';
import { allReasons } from '../../support/built-in-providers.ts';

const root = join(import.meta.dirname, '../../..');

describe('docs/reference/metallb-compatibility.md', () => {
  test('the page is what npm run generate writes', () => {
    expect(readFileSync(join(root, 'docs/reference/metallb-compatibility.md'), 'utf8')).toBe(metallbPage());
  });

  test('every field of every kind is listed, with a text unless it is the same', () => {
    const page = metallbPage();
    for (const { kind, rows, refused } of metallbKinds) {
      for (const { field, does, text } of rows) {
        expect([kind, field, page.includes(`\`${field}\``)]).toEqual([kind, field, true]);
        if (refused === undefined) expect([kind, field, does === 'same' || text !== '']).toEqual([kind, field, true]);
      }
    }
  });

  test('Events and reasons on the page exist in Herald', () => {
    const known = new Set<string>([
      ...Object.keys(allReasons),
      ...Object.values(eventTable).flatMap((kind) => ('reason' in kind ? [kind.reason] : [])),
    ]);
    const named = metallbEvents.flatMap(({ text }) => [...text.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name));
    expect(named.filter((name) => !known.has(name) && name !== 'PreferDualStack')).toEqual([]);
    expect(named.length).toBeGreaterThan(5);
  });

  test('each metric is listed once', () => {
    const names = metallbMetrics.flatMap(({ name }) => name.split(', '));
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(30);
  });
});

describe("intended differences from MetalLB's controller", () => {
  const pools = [{ name: 'p', spec: { addresses: ['192.0.2.0/30'], autoAssign: true, avoidBuggyIPs: false } }];
  const service = (name: string, further: Partial<WantedService> = {}): WantedService => ({
    namespace: 'a',
    name,
    type: 'LoadBalancer',
    labels: {},
    annotations: {},
    families: ['IPv4'],
    policy: 'SingleStack',
    ports: [{ port: 80, protocol: 'TCP' }],
    trafficPolicy: 'Cluster',
    app: 'p',
    ...further,
  });
  const of = (...addresses: readonly string[]) => outcomeOf(pools, addresses);
  const one = (service: WantedService, metallb: readonly string[], herald: readonly string[], before: readonly string[] = []): Case => ({
    service,
    metallb: of(...metallb),
    herald: of(...herald),
    before: { metallb: of(...before), herald: of(...before) },
    pools,
    services: new Map(),
    earlier: new Map(),
  });

  test('each is a row of the page that says what differs', () => {
    for (const { row } of differences) {
      const found = metallbBehaviour.find(({ name }) => name === row);
      expect([row, found?.does]).toEqual([row, 'differs']);
      expect(found?.text.length).toBeGreaterThan(20);
    }
  });

  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ['an address in MetalLB only', ['192.0.2.1'], [], []],
    ['an address in Herald only', [], ['192.0.2.1'], []],
    ['another address', ['192.0.2.1'], ['192.0.2.2'], []],
    ['an address that it asked for nothing else for', [], ['192.0.2.1'], ['192.0.2.1']],
    ['an address of no pool', ['192.0.2.1'], ['198.51.100.1'], []],
  ])('a plain Service with %s has no row, and the comparison fails', (_, metallb, herald, before) => {
    const about = one(service('s'), metallb, herald, before);
    expect(explain([about])).toEqual({ intended: [], unexplained: new Set([about]) });
  });

  test('a Service has the row of the Service that got its address from the other controller', () => {
    const asks = { annotations: { 'metallb.io/loadBalancerIPs': '203.0.113.1' } };
    const cause = one(service('s', asks), [], ['192.0.2.1'], ['192.0.2.1']);
    const gained = one(service('t'), ['192.0.2.1'], []);
    const row = 'A request that cannot be met';
    expect(explain([gained, cause])).toEqual({ intended: [row, row], unexplained: new Set() });
    expect(explain([gained]).unexplained.size).toBe(1);
  });

  test('a Service that keeps an address of a family that it no longer has is no request that cannot be met', () => {
    const asks = { annotations: { 'metallb.io/address-pool': 'p' } };
    const six = '2001:db8::1';
    expect(explain([one(service('s', asks), [], ['192.0.2.1'], ['192.0.2.1'])]).unexplained.size).toBe(0);
    expect(explain([one(service('s', asks), [], [six], [six])]).unexplained.size).toBe(1);
  });
});

test("a field that is the same in MetalLB has the same name in Herald's kind", () => {
  for (const { kind, rows, refused } of metallbKinds) {
    if (refused !== undefined) continue;
    const ours = kinds.find((candidate) => candidate.kind === kind);
    const page = readFileSync(join(root, `manifests/schema/herald.dev/${kind.toLowerCase()}_v1alpha1.json`), 'utf8');
    expect(ours).toBeDefined();
    for (const { field } of rows) expect([kind, field, page.includes(`"${field.split('.').at(-1)}"`)]).toEqual([kind, field, true]);
  }
});

/**
 * The files that may know MetalLB: where objects are read, `herald import metallb`, the setting `compat`, and the list by which an
 * installation recognizes other load balancer controllers.
 */
const filesThatMayKnow = [
  /^src\/decisions\/configuration\/other-load-balancers\.ts$/,
  /^src\/model\/kinds\/herald-config\.ts$/,
  /^src\/model\/metallb\//,
  /^src\/sources\//,
  /^src\/cli\/commands\/import\//,
  /^src\/model\/parse(\.ts|\/metadata\.ts|\/metallb-group\.ts)$/,
  /^src\/model\/reading\/metallb-annotations\.ts$/,
];

test('no other file knows MetalLB', () => {
  const files = sourceFiles();
  const knowing = files.filter((file) => {
    const code = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '');
    return /from '[^']*\/metallb\/|['"`]metallb\.|universe\.tf/.test(code);
  });
  expect(knowing.filter((file) => !filesThatMayKnow.some((pattern) => pattern.test(file)))).toEqual([]);
  expect(knowing.length).toBeGreaterThan(3);
});
