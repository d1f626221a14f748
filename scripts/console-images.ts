/**
 * Draws a PNG of each view of the console, over the lab with FRR, in Debian's Chromium.
 *
 *   node scripts/console-images.ts [FOLDER]
 *
 * Default: docs/images, where docs/how-to/console.md shows them. `npm run console:images` builds the page first. The folder also gets
 * console-images.json: the digest of the page that is drawn. A test compares it with the page, so that a picture cannot be out of date.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startStage, visit } from '../console/test/browser/stage.ts';
import { bundleConsole } from './console-bundle.ts';
import { digestOf, images } from './console-digest.ts';

const [folder = 'docs/images'] = process.argv.slice(2);
const root = join(import.meta.dirname, '..');

/** A router with another AS number, and a pool that no longer has the address of shop/web. */
const proposal = `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1-v4 }
spec: { myASN: 64512, peerASN: 65199, peerAddress: 10.1.0.1 }
`;

const waiting = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: waiting, annotations: { herald.dev/address-pool: tiny } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.41, ports: [{ port: 80, targetPort: 8080 }] }
`;

await mkdir(folder, { recursive: true });
const stage = await startStage();
try {
  await stage.herald.write('60-first.yaml', waiting.replace('waiting', 'first').replace('0.41', '0.40'));
  await stage.herald.untilAssigned('shop/first', 1);
  await stage.herald.write('61-waiting.yaml', waiting);
  // Agents say a Service is served once they saw that its clients are answered.
  for (const address of ['198.51.100.10', '2001:db8:100::10', '192.0.2.10', '2001:db8:2::10'])
    for (const send of ['tcp', 'udp'] as const) await stage.lab.client[send]({ address, port: 80, count: 12 });
  await stage.lab.until('shop/web is served', async (note) => note(await stage.herald.explain('shop/web')).startsWith('Served'));
  await stage.lab.cut('node3');
  const { page, open } = await visit(stage);
  await open('/fabric');
  await page.locator('.arrow.bad').nth(3).waitFor({ state: 'attached', timeout: 60_000 });
  for (const { name, path } of images) {
    await open(path);
    await page.waitForSelector('main .card, main .rows');
    if (path === '/what-if') await page.getByRole('textbox', { name: 'Manifests' }).fill(proposal);
    await page.waitForSelector(path === '/what-if' ? '.planned' : 'main .card, main .rows');
    await draw(page, join(folder, name));
  }
  const { files } = await bundleConsole(root);
  await writeFile(join(folder, 'console-images.json'), `${JSON.stringify({ page: digestOf(files) })}\n`);
} finally {
  await stage.lab.heal('node3').catch(() => undefined);
  await stage.stop();
}

/** As high as the view needs, up to a page of text. */
async function draw(page: Page, file: string): Promise<void> {
  const height = Number(await page.evaluate(`document.querySelector('main').scrollHeight + document.querySelector('header').offsetHeight`));
  await page.setViewportSize({ width: 1280, height: Math.min(1100, Math.max(400, height)) });
  await page.waitForTimeout(300);
  await page.screenshot({ path: file });
  await page.setViewportSize({ width: 1280, height: 800 });
  console.log(file);
}
