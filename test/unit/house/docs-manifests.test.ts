import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatPrefix } from '../../../src/net/prefix.ts';
import { decodeObjects } from '../../../src/sources/directory/raw-objects.ts';
import { readObjects } from '../../../src/sources/read-objects.ts';
import { blocksOf, type Block } from '../../docs/blocks.ts';
import { beds } from '../../docs/pages.ts';
import { reasons, stepsOf, type Step } from '../../docs/steps.ts';
import { allReasons } from '../../support/built-in-providers.ts';

const root = join(import.meta.dirname, '../../..');

const pages = ['README.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: root })].toSorted();
const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(join(root, page), 'utf8')));

/** Returns the problems of a page's manifests, read together as one cluster. */
function problemsOf(manifests: readonly Block[]): string[] {
  const read = manifests.map(({ page, line, text }) => decodeObjects(`${page}, block at ${line}`, text));
  const objects = read.flatMap(({ objects }) => objects);
  const { snapshot, problems } = readObjects(objects);
  const profiles = [...snapshot.peers].flatMap(([name, { bfdProfile }]) =>
    bfdProfile === undefined || snapshot.bfdProfiles.has(bfdProfile) ? [] : [`BGPPeer ${name}: no BFDProfile ${bfdProfile} on the page`],
  );
  const names = [...snapshot.advertisements].flatMap(([advertisement, { peers, ipAddressPools }]) => [
    ...peers.filter((name) => !snapshot.peers.has(name)).map((name) => `BGPAdvertisement ${advertisement}: no BGPPeer ${name} on the page`),
    ...ipAddressPools
      .filter((name) => !snapshot.pools.has(name))
      .map((name) => `BGPAdvertisement ${advertisement}: no IPAddressPool ${name} on the page`),
  ]);
  return [...read.flatMap(({ problems: unread }) => unread), ...problems]
    .map(({ file, line, object, field, message }) => `${file}:${line} ${object ?? ''} ${field}: ${message}`)
    .concat(profiles, names);
}

describe('manifests in the documentation', () => {
  const manifests = blocks.filter(({ info, text }) => info === 'yaml' && /^apiVersion:/m.test(text));
  const withManifests = [...new Set(manifests.map(({ page }) => page))];

  test("the pages have manifests, also of Herald's kinds", () => {
    expect(manifests.length).toBeGreaterThan(10);
    expect(manifests.filter(({ text }) => text.includes('herald.dev/v1alpha1')).length).toBeGreaterThan(10);
  });

  test.each(withManifests)('%s has only valid manifests', (page) => {
    expect(problemsOf(manifests.filter((block) => block.page === page))).toEqual([]);
  });

  test('an unknown field or an unresolved name in a manifest is found', () => {
    const peer = (field: string): Block => ({
      page: 'docs/x.md',
      line: 1,
      info: 'yaml',
      before: '',
      text: `apiVersion: herald.dev/v1alpha1\nkind: BGPPeer\nmetadata: { name: tor1 }\nspec: { myASN: 64512, peerASN: 65101, peerAddress: 10.1.0.1, ${field} }\n`,
    });
    expect(problemsOf([peer('holdTime: 9s')])).toEqual([]);
    expect(problemsOf([peer('holdTimes: 9s')]).join('\n')).toContain('holdTimes');
    expect(problemsOf([peer('bfdProfile: fast')])).toEqual(['BGPPeer tor1: no BFDProfile fast on the page']);
  });
});

test('examples/receive-routes is valid, and imports the default route of two ToRs in both families', () => {
  const path = 'examples/receive-routes/import.yaml';
  const text = readFileSync(join(root, path), 'utf8');
  expect(problemsOf([{ page: path, line: 1, info: 'yaml', before: '', text }])).toEqual([]);
  const { snapshot } = readObjects(decodeObjects(path, text).objects);
  const imported = [...snapshot.peers].map(([name, peer]) => {
    return [name, peer.bfdProfile, peer.import?.prefixes.map((rule) => formatPrefix(rule.prefix))];
  });
  expect(imported).toEqual([
    ['tor1-v4', 'nodes', ['0.0.0.0/0']],
    ['tor1-v6', 'nodes', ['::/0']],
    ['tor2-v4', 'nodes', ['0.0.0.0/0']],
    ['tor2-v6', 'nodes', ['::/0']],
  ]);
});

test('every reason that a page links to is in the catalogue', () => {
  const named = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\[`?([A-Z][A-Za-z]+)`?\]\([^)]*reasons\.md\)/g)].map(([, code = '']) => ({
      page,
      code,
    })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ code }) => !Object.hasOwn(allReasons, code))).toEqual([]);
});

describe('commands in the tutorial and the how-to pages', () => {
  const shells = blocks.filter(
    ({ page, info }) => /^docs\/(quick-start|tutorial|how-to\/)/.test(page) && /^(sh|bash|shell|console)\b/.test(info),
  );
  const withCommands = [...new Set(shells.map(({ page }) => page))];
  const stepsOn = (page: string): readonly Step[] => stepsOf(page, readFileSync(join(root, page), 'utf8'));

  test('every fence is closed', () => {
    expect(blocks.filter(({ info }) => info === 'not closed').map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });

  test.each(withCommands)('%s is run by a test in test/docs, or each command has ```sh not-run: REASON', (page) => {
    const runs = stepsOn(page).filter(({ kind }) => kind === 'shell');
    expect(Object.hasOwn(beds, page), `${page} in test/docs/pages.ts`).toBe(runs.length > 0);
  });

  test('every page in test/docs/pages.ts exists', () => {
    expect(Object.keys(beds).filter((page) => !withCommands.includes(page))).toEqual([]);
  });

  test('at most eighteen commands are not run', () => {
    const steps = withCommands.flatMap(stepsOn);
    const left = steps.filter((step) => step.kind === 'not-run');
    const by = Object.entries(Object.groupBy(left, ({ reason }) => reason)).map(
      ([reason, those]) => `${those.length} need ${reasons[reason as keyof typeof reasons]}`,
    );
    console.info(`${shells.length} sh blocks, ${shells.length - left.length} run by test:docs, ${left.length} not-run: ${by.join('; ')}`);
    expect(left.length).toBeLessThanOrEqual(18);
  });
});
