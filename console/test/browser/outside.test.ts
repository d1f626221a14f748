import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../test/lab/until.ts';
import { axe, violations } from './axe.ts';
import { addressIn, endOf, launchBrowser, program, visit, type Visitor } from './stage.ts';

/** Load balancers outside the cluster on the map of the fabric. A provider of the test has them. */
const service = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name },
  spec: { type: 'LoadBalancer', clusterIP: '10.96.0.10', loadBalancerClass: 'example.com/fixture', ports: [{ port: 443 }] },
  status: { loadBalancer: { ingress: [{ hostname: `${name}.elb.amazonaws.com` }] } },
});
const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } };

let directory: string;
let child: ChildProcess;
let browser: Browser;
let visitor: Visitor;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'herald-outside-'));
  await show('web', 'broken');
  const provider = join(import.meta.dirname, 'fixture-provider.ts');
  child = spawn(program, ['ui', '--no-open', '-f', directory, '--provider', provider], { stdio: ['ignore', 'pipe', 'inherit'] });
  browser = await launchBrowser();
  visitor = await visit({ browser, address: await addressIn(child) });
});

afterAll(async () => {
  await browser?.close();
  if (child !== undefined) await endOf(child);
  await rm(directory, { recursive: true });
});

const show = (...names: readonly string[]): Promise<void> =>
  writeFile(join(directory, 'objects.yaml'), [node, ...names.map(service)].map((one) => JSON.stringify(one)).join('\n---\n'));

describe('the map of load balancers outside the cluster', () => {
  test('draws load balancers, listeners, target groups and targets, with a line for each way', async () => {
    const { page } = visitor;
    await visitor.open('/fabric');
    await page.locator('.outside .box').first().waitFor();
    const names = await page.locator('.outside .box strong').allTextContents();
    expect(names.toSorted()).toEqual(
      ['web', 'broken'].flatMap((of) => [`${of}-nlb`, 'TLS 443', `${of}-group`, 'i-1 port 30080', 'i-2 port 30080']).toSorted(),
    );
    await until('every way has a line', async () => (await page.locator('.outside .arrow').count()) === 8);
    expect(await page.locator('.outside .arrow.bad').count()).toBe(4);
    expect(await page.locator('.outside .arrow.good').count()).toBe(4);
  });

  test('has the same facts as text', async () => {
    const lines = await visitor.page.locator('.outside + ul li').allTextContents();
    expect(lines).toContain('web-nlb to TLS 443: works');
    expect(lines).toContain('broken-group to i-1 port 30080: unhealthy: Health checks failed with these codes: [503]');
  });

  test('marks an unhealthy target by shape and colour, and the keyboard reaches its verdict', async () => {
    const { page } = visitor;
    const target = page.locator('.outside .box.bad', { hasText: 'i-1' });
    expect(await target.getByRole('img').getAttribute('aria-label')).toBe('has a problem');
    await page.getByRole('link', { name: 'What if' }).focus();
    const focused = (): Promise<string> => page.evaluate('document.activeElement?.className + " " + document.activeElement?.textContent');
    const isThere = async (): Promise<boolean> => /^box bad .*i-1/.test(await focused());
    for (let presses = 0; presses < 30 && !(await isThere()); presses++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const chosen = page.locator('.gap.chosen');
    expect(await chosen.textContent()).toContain('unhealthy: Health checks failed with these codes: [503]');
    await chosen.getByRole('link', { name: 'shop/broken' }).click();
    await page.getByRole('heading', { level: 1, name: 'shop/broken' }).waitFor();
  });

  test('has no fault that axe finds', async () => {
    const { page, open } = await visit({ browser, address: visitor.address }, { bypassCSP: true });
    await open('/fabric');
    await page.locator('.outside .box').first().click();
    await page.evaluate(axe);
    expect(await page.evaluate(violations)).toEqual([]);
    await page.context().close();
  });

  test('fits the width of a small screen', async () => {
    const { page, open } = await visit({ browser, address: visitor.address }, { viewport: { width: 360, height: 640 } });
    await open('/fabric');
    await page.locator('.outside .box').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')).toBe(true);
    await page.context().close();
  });

  test('puts alike load balancers into one box when there are many', async () => {
    const { page } = visitor;
    await show('broken', ...Array.from({ length: 60 }, (_, index) => `web${index}`));
    await visitor.open('/fabric');
    await page.locator('.outside .box', { hasText: '60 load balancers' }).waitFor({ timeout: 60_000 });
    expect(await page.locator('.outside .box').count()).toBe(8);
    expect(await page.locator('.outside .box.bad strong').allTextContents()).toEqual([
      'broken-nlb',
      'TLS 443',
      'broken-group',
      '2 targets',
    ]);
    expect(visitor.errors).toEqual([]);
  });
});
