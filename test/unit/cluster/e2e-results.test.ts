import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { e2ePage } from '../../cluster/e2e/page.ts';
import { resultsIn } from '../../cluster/e2e/report.ts';
import { mergeResults, readResults, resultsFile, type TestResult } from '../../cluster/e2e/results.ts';
import { exclusions, isExpectedToFail, shortList, wholeSuite } from '../../cluster/e2e/selection.ts';

const directory = mkdtempSync(join(tmpdir(), 'herald-e2e-'));
afterAll(() => rmSync(directory, { recursive: true }));

const spec = (LeafNodeText: string, State: string, message?: string): object => ({
  ContainerHierarchyTexts: ['[sig-network] Services'],
  LeafNodeType: 'It',
  LeafNodeText,
  State,
  RunTime: 2_400_000_000,
  ...(message === undefined ? {} : { Failure: { Message: message } }),
});

describe('resultsIn', () => {
  const read = (...specs: readonly object[]): TestResult[] => resultsIn(JSON.stringify([{ SpecReports: specs }]));

  test('reads the tests that ran, and skipped tests with their reason', () => {
    expect(read(spec('a', 'passed'), spec('b', 'failed', 'timed\n  out'), spec('c', 'skipped', 'needs ssh'))).toEqual([
      { name: 'Services a', result: 'passed', seconds: 2 },
      { name: 'Services b', result: 'failed', seconds: 2, reason: 'timed out' },
      { name: 'Services c', result: 'skipped', seconds: 2, reason: 'needs ssh' },
    ]);
  });

  test('leaves out the tests that were not selected, and steps that are no test', () => {
    expect(read(spec('a', 'skipped'), { ...spec('b', 'passed'), LeafNodeType: 'BeforeSuite' })).toEqual([]);
  });

  test('leaves out a test that an interrupt ended, which has no result', () => {
    expect(read(spec('a', 'interrupted', 'Interrupted by User'))).toEqual([]);
  });

  test('counts a test that panicked or took too long as failed', () => {
    expect(read(spec('a', 'timedout'), spec('b', 'panicked')).map(({ result }) => result)).toEqual(['failed', 'failed']);
  });
});

describe('mergeResults', () => {
  const head = { kubernetes: 'v1.36.2', kernel: '6.1', date: '2026-01-01' };

  test('keeps the results of tests that did not run again', () => {
    const file = resultsFile(directory, 'in-place');
    mergeResults(file, {
      ...head,
      tests: [
        { name: 'b', result: 'failed', seconds: 1, reason: 'x' },
        { name: 'a', result: 'passed', seconds: 1 },
      ],
    });
    mergeResults(file, { ...head, date: '2026-01-02', tests: [{ name: 'b', result: 'passed', seconds: 3 }] });
    expect(readResults(file)).toEqual({
      ...head,
      date: '2026-01-02',
      tests: [
        { name: 'a', result: 'passed', seconds: 1 },
        { name: 'b', result: 'passed', seconds: 3 },
      ],
    });
  });

  test('writes a line for each test', () => {
    expect(readFileSync(resultsFile(directory, 'in-place'), 'utf8').split('\n')).toContain(
      '    {"name":"a","result":"passed","seconds":1},',
    );
  });

  test('gives a page that says "not run" for a test without a result', () => {
    expect(e2ePage(directory)).toContain('| a | passes | not run | not run | not run |');
  });
});

test('a test may be expected to fail beside kube-proxy, and not in its place', () => {
  const name = 'LoadBalancers ExternalTrafficPolicy: Local should only target nodes with endpoints';
  expect(isExpectedToFail(name, 'kube-proxy')).toBe(true);
  expect(isExpectedToFail(name, 'in-place')).toBe(false);
  expect(isExpectedToFail('LoadBalancers should handle load balancer cleanup finalizer for service', 'in-place')).toBe(true);
});

describe('the expressions of a selection', () => {
  const selects = ({ focus, skip }: { readonly focus: string; readonly skip: string }, name: string): boolean =>
    new RegExp(focus).test(name) && !(skip !== '' && new RegExp(skip).test(name));

  test.each([
    ['[sig-network] Services should be up', 'parallel'],
    ['[sig-network] LoadBalancers [Feature:LoadBalancer] should change [Slow]', 'parallel'],
    ['[sig-network] Services should work after restarting apiserver [Disruptive]', 'serial'],
    ['[sig-network] IngressClass should set a default value [Serial]', 'serial'],
    ['[sig-network] Netpol should deny [Feature:NetworkPolicy]', undefined],
    ['[sig-apps] Deployment should run [Serial]', undefined],
  ])('%s runs in %s', (name, expected) => {
    expect(wholeSuite().find((selection) => selects(selection, name))?.name).toBe(expected);
  });

  test('of the whole suite with a focus select only what matches it', () => {
    expect(wholeSuite('affinity').some((one) => selects(one, '[sig-network] Services should be up'))).toBe(false);
    expect(wholeSuite('affinity').some((one) => selects(one, '[sig-network] Services with affinity'))).toBe(true);
  });

  test('of the whole suite select only network tests, each by its own alternative of the focus', () => {
    const names = (name: string): string[] => wholeSuite('affinity|up').flatMap((one) => (selects(one, name) ? one.name : []));
    expect(names('[sig-network] Services should be up')).toEqual(['parallel']);
    expect(names('[sig-network] Services should be up [Serial]')).toEqual(['serial']);
    expect(names('[sig-network] [Disruptive] Services with affinity')).toEqual(['serial']);
    expect(names('[sig-apps] Jobs should be up [Serial]')).toEqual([]);
  });

  test('run tests that need two nodes in a zone in a cluster of six nodes too', () => {
    const name = '[sig-network] Traffic Distribution should route traffic correctly between pods on multiple nodes when using PreferClose';
    expect(wholeSuite().flatMap((one) => (selects(one, name) ? one.nodes : []))).toEqual([3, 6]);
  });

  test('of the short list select the conformance tests', () => {
    expect(shortList().some((one) => selects(one, '[sig-network] Services should serve [Conformance]'))).toBe(true);
    expect(shortList().some((one) => selects(one, '[sig-network] LoadBalancers rolling update [Slow]'))).toBe(false);
  });

  test('leave out what every exclusion names', () => {
    const left = exclusions.filter(({ text }) => !text.includes('SCTP'));
    expect(left.filter(({ text }) => wholeSuite().some((one) => selects(one, `[sig-network] ${text}`)))).toEqual([]);
  });
});
