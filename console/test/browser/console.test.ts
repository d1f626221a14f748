import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../test/lab/until.ts';
import { limits } from '../../../src/console/limits.ts';
import type { Problem } from '../../../src/explain/overview/problem.ts';
import { axe, violations } from './axe.ts';
import { command, startStage, visit, type Stage, type Visitor } from './stage.ts';

let stage: Stage;
let visitor: Visitor;

beforeAll(async () => {
  stage = await startStage();
  visitor = await visit(stage);
});

afterAll(async () => {
  await stage?.stop();
});

/** A Service inside the cluster, with the pods of shop/web. */
const inside = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: inside }
spec: { type: ClusterIP, clusterIP: 10.96.0.60, ports: [{ name: http, protocol: TCP, port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: inside-v4, labels: { kubernetes.io/service-name: inside } }
addressType: IPv4
ports: [{ name: http, protocol: TCP, port: 8080 }]
endpoints:
  - { addresses: [10.244.1.10], nodeName: node1, conditions: { ready: true } }
  - { addresses: [10.244.2.10], nodeName: node2, conditions: { ready: true } }
`;

/** The text of an explanation as the page shows it, line by line and without indentation. */
async function explanationOnPage(): Promise<readonly string[]> {
  const lines = visitor.page.locator('.tree summary, .tree li:not(:has(details))');
  return (await lines.allTextContents()).map((line) => line.trim());
}

const withoutAges = (lines: readonly string[]): string[] => lines.map((line) => line.replaceAll(/\b\d+ (?:s|min|h)\b/g, 'AGE'));

/** Waits until the page says of a Service exactly what the command says. Ages may differ by the time between the two. */
async function untilSameExplanation(service: string): Promise<string> {
  await visitor.open(`/service?name=${service}`);
  return until(`the page explains ${service} as the command does`, async (note) => {
    const told = (await command(stage, 'explain', 'service', service))
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
    const shown = await explanationOnPage();
    const verdict = await visitor.page.locator('.verdict').textContent();
    note({ told, shown });
    return JSON.stringify(withoutAges(shown)) === JSON.stringify(withoutAges(told)) && verdict === told[0] ? verdict : undefined;
  });
}

/** Waits until the page lists exactly the problems that the command lists, and one with this code. */
async function untilSameProblems(code: string): Promise<readonly string[]> {
  await visitor.open('/fabric');
  return until(`the page lists the problems of the command, with ${code}`, async (note) => {
    const { problems } = JSON.parse(await command(stage, 'status', '--problems', '-o', 'json')) as {
      readonly problems: readonly Problem[];
    };
    const shown = await visitor.page.locator('.problems li p:last-child').allTextContents();
    const told = problems.map(({ line }) => line);
    note({ told, shown });
    return problems.some((one) => one.code === code) && JSON.stringify(shown) === JSON.stringify(told) ? shown : undefined;
  });
}

describe('the Services', () => {
  test('are listed with state, address and conditions', async () => {
    await visitor.open('/services');
    const row = visitor.page.locator('[data-index] ');
    await row.first().waitFor();
    expect(await row.count()).toBe(1);
    expect(await row.first().textContent()).toMatch(/Announced, not checked.*shop\/web.*198\.51\.100\.10.*public/);
    expect(
      await row
        .first()
        .getByRole('img')
        .evaluateAll((marks) => marks.map((mark) => mark.getAttribute('aria-label'))),
    ).toEqual(['AddressAssigned True', 'Programmed True', 'Announced True']);
  });

  test('the list shows the Services that the search and the filters select, and the URL keeps the choice', async () => {
    const { page } = visitor;
    await page.getByRole('searchbox').fill('nothing-like-this');
    await page.getByRole('heading', { name: 'No Service matches' }).waitFor();
    expect(page.url()).toContain('q=nothing-like-this');
    await page.reload();
    expect(await page.getByRole('searchbox').inputValue()).toBe('nothing-like-this');
    await page.getByRole('button', { name: 'Show all Services' }).click();
    await page.getByRole('button', { name: '0 Not served' }).click();
    await page.getByRole('heading', { name: 'No Service matches' }).waitFor();
    expect(page.url()).toContain('outcome=notServed');
    await page.getByRole('button', { name: '0 Not served' }).click();
    await page.getByRole('combobox', { name: 'condition' }).selectOption('Announced=True');
    await page.getByRole('link', { name: 'shop/web' }).waitFor();
  });

  test('are reached by the keyboard alone', async () => {
    const { page } = visitor;
    await visitor.open('/services');
    await page.getByRole('link', { name: 'shop/web' }).waitFor();
    const focused = (): Promise<string> => page.evaluate('document.activeElement?.textContent ?? ""');
    for (let presses = 0; presses < 40 && (await focused()) !== 'shop/web'; presses++) await page.keyboard.press('Tab');
    expect(await focused()).toBe('shop/web');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'shop/web' }).waitFor();
  });
});

describe('a Service', () => {
  test('is drawn from its address to its endpoints, with the words of explain', async () => {
    expect(await untilSameExplanation('shop/web')).toMatch(/^(?:Served|Announced, not checked): /);
    const boxes = await visitor.page.locator('.box strong').allTextContents();
    expect(boxes).toEqual(expect.arrayContaining(['198.51.100.10', 'tor1', 'tor2', 'node1', 'node2', 'node3', '3 ready']));
    // Two routers with two sessions each, an arrow from each to each node, three nodes to the endpoints.
    expect(await visitor.page.locator('.arrow.good').count()).toBe(2 + 6 + 3);
    expect(await visitor.page.locator('.session').allTextContents()).toEqual(
      ['tor1-v4 10.1.0.1', 'tor1-v6 fd00:1::1', 'tor2-v4 10.2.0.1', 'tor2-v6 fd00:2::1'].map(
        (text) => expect.stringContaining(text) as string,
      ),
    );
  });

  test('has its endpoints by node, with the last look of the agents', async () => {
    const endpoints = visitor.page.locator('.endpoints');
    expect(await endpoints.count()).toBe(3);
    await stage.lab.client.tcp({ address: '198.51.100.10', port: 80, count: 30 });
    await until('an endpoint of each node answered', async (note) => {
      await visitor.page.reload();
      await endpoints.first().waitFor();
      const texts = await endpoints.allTextContents();
      note(texts);
      return texts.every((text, index) => text.startsWith(`node${index + 1}`) && / answered \d+ s ago on node\d/.test(text));
    });
  });

  test('is checked from every node when the button is pressed, with the words of herald check', async () => {
    // Without an address outside, this host opens no connection.
    await stage.herald.write('62-inside.yaml', inside);
    await untilSameExplanation('shop/inside');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Check now' }).click();
    const result = page.locator('section[aria-labelledby=check]');
    await result.locator('tbody tr').first().waitFor({ timeout: 60_000 });
    const [verdict] = (await command(stage, 'check', 'service', 'shop/inside')).split('\n');
    expect(await result.locator('.banner').textContent()).toBe(verdict);
    const rows = await result.locator('tbody tr').allTextContents();
    expect(rows.filter((row) => row.startsWith('every node') && row.includes('answered')).length).toBeGreaterThan(0);
    expect(rows.join()).not.toMatch(/refused|no answer within|unreachable/);
    expect(await result.textContent()).toContain('the client here: the Service has no address for clients outside');
    await stage.herald.remove('62-inside.yaml');
    await visitor.open('/service?name=shop/web');
  });

  test('has a history', async () => {
    await visitor.page.getByRole('link', { name: 'What happened to it' }).click();
    await visitor.page.locator('.events li').first().waitFor();
    expect(await visitor.page.locator('.events strong').allTextContents()).toContain('Announced');
  });
});

describe('faults', () => {
  afterEach(() => expect(visitor.errors).toEqual([]));

  test('a full pool is told as in explain, and drawn', async () => {
    const service = (name: string, last: number): string =>
      `apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: ${name}, annotations: { herald.dev/address-pool: tiny } }\nspec: { type: LoadBalancer, clusterIP: 10.96.0.${last}, ports: [{ port: 80, targetPort: 8080 }] }\n`;
    await stage.herald.write('60-first.yaml', service('first', 40));
    await stage.herald.untilAssigned('shop/first', 1);
    await stage.herald.write('61-second.yaml', service('second', 41));
    expect(await untilSameExplanation('shop/second')).toMatch(/pool tiny is full/);
    await visitor.open('/addresses');
    await visitor.page.getByRole('heading', { name: 'tiny' }).waitFor();
    expect(await visitor.page.locator('section', { hasText: 'tiny' }).locator('.cell.assigned').count()).toBe(1);
    await visitor.open('/services?outcome=notServed');
    await visitor.page.getByRole('link', { name: 'shop/second' }).waitFor();
    expect(await visitor.page.locator('[data-index]', { hasText: 'shop/second' }).textContent()).toContain('PoolFull');
    await stage.herald.remove('60-first.yaml');
    await stage.herald.remove('61-second.yaml');
  });

  test('a wrong AS number is told as in the commands, and its sessions are red', async () => {
    await stage.herald.edit('20-herald.yaml', (text) =>
      text.replace('peerASN: 65101, peerAddress: 10.1.0.1', 'peerASN: 65199, peerAddress: 10.1.0.1'),
    );
    const lines = await untilSameProblems('PeerASMismatch');
    expect(lines.join()).toContain('Set spec.peerASN: 65101 in BGPPeer "tor1-v4"');
    await until('three sessions are red', async () => (await visitor.page.locator('.arrow.bad').count()) === 3);
    expect(await visitor.page.locator('tbody tr', { hasText: 'tor1-v4' }).first().textContent()).toContain('65199');
    await stage.herald.edit('20-herald.yaml', (text) => text.replace('peerASN: 65199', 'peerASN: 65101'));
    await until('no session is red', async () => (await visitor.page.locator('.arrow.good').count()) === 12);
  });

  test('a node that is cut off is red, and the paths over it are missing', async () => {
    await stage.lab.cut('node3');
    try {
      await visitor.open('/fabric');
      await until('the four sessions of node3 are red', async () => (await visitor.page.locator('.arrow.bad').count()) === 4);
      expect(await untilSameExplanation('shop/web')).toContain('node3');
      // Alike sessions are folded behind the first one.
      expect(await visitor.page.locator('.gap').filter({ visible: true }).count()).toBeLessThan(3);
      expect(await visitor.page.locator('.gap h3').allTextContents()).toEqual(
        expect.arrayContaining([expect.stringContaining('node3') as string]),
      );
    } finally {
      await stage.lab.heal('node3');
    }
    await visitor.open('/fabric');
    await until('no session is red', async () => (await visitor.page.locator('.arrow.good').count()) === 12);
  });

  test('a session that a router ends is red on an open page at once, without another load', async () => {
    const { page } = visitor;
    const tor = stage.lab.router('tor1');
    await visitor.open('/fabric');
    await until('no session is red', async () => (await page.locator('.arrow.good').count()) === 12);
    // The page notes the time itself, by the clock of this host. Another load would forget it.
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector('.arrow.bad') !== null) window.red ??= Date.now();
    }).observe(document.body, { subtree: true, childList: true, attributes: true })`);
    const began = Date.now();
    await tor.configure(['router bgp 65101', 'neighbor NODES shutdown']);
    try {
      await until('all six sessions of the router are red', async () => (await page.locator('.arrow.bad').count()) === 6);
      const tookMs = Number(await page.evaluate('window.red')) - began;
      console.info(`The first session was red ${tookMs} ms after the command to the router began`);
      expect(tookMs).toBeLessThan(5000);
    } finally {
      await tor.configure(['router bgp 65101', 'no neighbor NODES shutdown']);
    }
    await until('no session is red', async () => (await page.locator('.arrow.good').count()) === 12);
  });

  test('a stopped agent is told as in the commands', async () => {
    await stage.herald.agent('node1').stop();
    const lines = await untilSameProblems('AgentStopped');
    expect(lines.join()).toContain('node1');
    expect(await visitor.page.locator('.box', { hasText: 'node1' }).first().getAttribute('class')).not.toContain('good');
    await stage.herald.startAgent('node1').waitForLine(/agent started/);
    await until('no session is red', async () => (await visitor.page.locator('.arrow.good').count()) === 12);
  });
});

describe('what if', () => {
  const pool = (range: string): string =>
    `apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: public }\nspec: { addresses: [${range}] }\n`;
  const peer = (text: string): string => text.replace('peerASN: 65101, peerAddress: 10.1.0.1', 'peerASN: 65199, peerAddress: 10.1.0.1');

  /** Returns the documents of a manifest of the lab that contain a text. */
  async function documents(file: string, part: string): Promise<string> {
    const text = await readFile(join(stage.herald.directory, file), 'utf8');
    return text
      .split(/^---$/m)
      .filter((document) => document.includes(part))
      .join('---');
  }

  /** Plans an edit of the lab's directory with the command. */
  async function planned(file: string, edit: (text: string) => string): Promise<string> {
    const proposed = await mkdtemp(join(tmpdir(), 'herald-proposed-'));
    try {
      await cp(stage.herald.directory, proposed, {
        recursive: true,
        filter: (path) => !path.endsWith('.herald') && !path.endsWith('.sock'),
      });
      await writeFile(join(proposed, file), edit(await readFile(join(proposed, file), 'utf8')));
      const { stdout } = await stage.herald.run('plan', '-f', proposed, '--source', stage.herald.directory);
      return stdout;
    } finally {
      await rm(proposed, { recursive: true });
    }
  }

  async function copied(): Promise<string> {
    const { page } = visitor;
    await page.getByRole('button', { name: 'Copy as text' }).click();
    await page.getByText('Copied').waitFor();
    return page.evaluate('navigator.clipboard.readText()');
  }

  test('an edited router resets its sessions on the map, and the text is that of herald plan', async () => {
    const { page, open } = visitor;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await open('/what-if');
    await page.getByRole('textbox', { name: 'Manifests' }).fill(peer(await documents('20-herald.yaml', 'name: tor1-v4')));
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    expect(await page.locator('.arrow.bad').count()).toBe(3);
    expect(await page.locator('.planned li', { hasText: 'tor1-v4 and node1: the session resets' }).count()).toBe(1);
    expect(await copied()).toBe(await planned('20-herald.yaml', peer));
    expect(visitor.errors).toEqual([]);
  });

  test('chosen and dropped files are planned, and an object with an error is told with its line and field', async () => {
    const { page } = visitor;
    const manifests = page.getByRole('textbox', { name: 'Manifests' });
    await page.getByRole('button', { name: 'Clear' }).click();
    await page
      .locator('input[type=file]')
      .setInputFiles([{ name: 'pool.yaml', mimeType: 'application/yaml', buffer: Buffer.from(pool('203.0.113.128/28')) }]);
    await page.getByRole('heading', { name: 'Addresses', exact: true, level: 2 }).waitFor();
    expect(await manifests.inputValue()).toBe(pool('203.0.113.128/28'));
    const text = JSON.stringify(pool('203.0.113.192/28'));
    const dataTransfer = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${text}], 'pool.yaml')); return data; })()`,
    );
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.dispatchEvent('.page', 'drop', { dataTransfer });
    await until('the dropped file is in the field', async () => (await manifests.inputValue()) === pool('203.0.113.192/28'));
    await page.getByRole('heading', { name: 'Addresses', exact: true, level: 2 }).waitFor();
    await manifests.fill(pool('192.0.2.0/99'));
    await page.getByText('objects with an error are compared as they are now').waitFor();
    expect(await page.locator('.notes li').allTextContents()).toEqual([
      expect.stringMatching(/^your manifests:4:\d+: IPAddressPool\/public: spec\.addresses\[0\]: /),
    ]);
  });

  test('the keyboard alone writes manifests and reaches the text to copy', async () => {
    const { page, open } = visitor;
    await open('/what-if');
    await page.getByRole('link', { name: 'What if' }).focus();
    const focused = (): Promise<string> => page.evaluate('document.activeElement?.tagName + " " + document.activeElement?.textContent');
    for (let presses = 0; presses < 10 && !(await focused()).startsWith('TEXTAREA'); presses++) await page.keyboard.press('Tab');
    await page.keyboard.insertText(pool('203.0.113.128/28'));
    await page.getByRole('heading', { name: 'Addresses', exact: true, level: 2 }).waitFor();
    for (let presses = 0; presses < 5 && !(await focused()).includes('Copy as text'); presses++) await page.keyboard.press('Tab');
    expect(await focused()).toBe('BUTTON Copy as text');
  });

  test('manifests beyond the limit are refused with the limit and the fix', async () => {
    const { page } = visitor;
    await page.getByRole('textbox', { name: 'Manifests' }).fill(`#${'x'.repeat(limits.manifestBytes)}`);
    const refused = page.getByRole('alert').filter({ hasText: 'The manifests have more than' });
    await refused.waitFor();
    expect(await refused.textContent()).toBe(
      `The manifests have more than ${limits.manifestBytes} octets. Leave out objects that do not change, or run herald plan -f FILE.`,
    );
    await page.getByRole('button', { name: 'Clear' }).click();
  });
});

const views = ['/services', '/service?name=shop/web', '/fabric', '/addresses', '/history?kind=Service&name=shop/web', '/what-if'] as const;
/** Waits until a view has its content. "What if" needs manifests: two objects that change, one with an error. */
async function show(page: Page, path: (typeof views)[number]): Promise<void> {
  await page.waitForSelector('main .card, main .rows');
  if (path !== '/what-if') return;
  await page.getByRole('textbox', { name: 'Manifests' }).fill(proposal);
  await page.waitForSelector('.planned');
}

const proposal = [
  { kind: 'IPAddressPool', metadata: { name: 'public' }, spec: { addresses: ['203.0.113.128/28'] } },
  { kind: 'BGPPeer', metadata: { name: 'tor1-v4' }, spec: { myASN: 64_512, peerASN: 65_199, peerAddress: '10.1.0.1' } },
  { kind: 'IPAddressPool', metadata: { name: 'broken' }, spec: { addresses: ['192.0.2.0/99'] } },
]
  .map((object) => JSON.stringify({ apiVersion: 'herald.dev/v1alpha1', ...object }))
  .join('\n---\n');

test.each(['light', 'dark'] as const)('axe finds no fault in any view in %s colours', async (colorScheme) => {
  // The test puts axe into the page, which the policy of the page forbids to everybody else.
  const { page, open } = await visit(stage, { colorScheme, bypassCSP: true });
  for (const path of views) {
    await open(path);
    await show(page, path);
    await page.evaluate(axe);
    expect({ path, found: await page.evaluate(violations) }).toEqual({ path, found: [] });
  }
  await page.context().close();
});

/** Runs in the page: nothing is wider than the screen. */
const fits = `[document.documentElement, document.querySelector('main')].every((one) => one.scrollWidth <= one.clientWidth)`;

test.each([
  [360, 640],
  [768, 1024],
  [3840, 2160],
])('at %d x %d every view fits the width of the screen', async (width, height) => {
  const { page, open } = await visit(stage, { viewport: { width, height } });
  for (const path of views) {
    await open(path);
    await show(page, path);
    expect({ path, fits: await page.evaluate(fits) }).toEqual({ path, fits: true });
  }
  await page.context().close();
});

test('the page asks no host but its own', () => {
  expect([...visitor.hosts]).toEqual([new URL(stage.address).host]);
});

// The last test: it ends the console.
test('a page whose console has ended says how old it is and what to do, and keeps its picture', async () => {
  await visitor.open('/services');
  await visitor.page.getByRole('link', { name: 'shop/web' }).waitFor();
  await visitor.page.locator('.freshness.good').waitFor();
  expect(await stage.endConsole()).toBe(0);
  const said = visitor.page.locator('.freshness.bad');
  await said.waitFor();
  expect(await said.textContent()).toMatch(/The picture is of \d+:\d+:\d+, \d+ s ago\. Start it again: herald ui/);
  expect(await visitor.page.getByRole('link', { name: 'shop/web' }).count()).toBe(1);
});
