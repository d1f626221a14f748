import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FabricBed, fabricObjects } from './fabric-bed.ts';
import { follow } from './follow.ts';
import { pagesOf } from './pages.ts';

let fabric: FabricBed;

beforeAll(async () => {
  fabric = await FabricBed.start();
});

afterAll(async () => {
  await fabric?.stop();
});

/** Files that a page expects in the reader's directory. */
const files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/how-to/report-a-bug.md': { 'manifests/fabric.yaml': fabricObjects },
  'docs/how-to/explain.md': {
    'manifests/fabric.yaml': fabricObjects.replaceAll('holdTime: 30s', 'holdTime: 60s'),
    'current/fabric.yaml': fabricObjects,
    'proposed/fabric.yaml': fabricObjects.replaceAll('holdTime: 30s', 'holdTime: 60s'),
  },
};

const onNode1 = new Set(['docs/how-to/report-a-bug.md', 'docs/how-to/trace-a-session.md']);

describe('a cluster with three nodes and two switches', () => {
  beforeEach(() => fabric.begin());

  test.each(pagesOf('fabric'))('%s', async (page) => {
    const prepare = (directory: string): void => {
      if (page === 'docs/how-to/report-a-bug.md') copyFileSync(fabric.bed.kubeconfig, join(directory, 'admin.conf'));
      for (const [name, text] of Object.entries(files[page] ?? {})) {
        mkdirSync(join(directory, name, '..'), { recursive: true });
        writeFileSync(join(directory, name), text);
      }
    };
    const bed = onNode1.has(page) ? fabric.onNode1 : fabric.bed;
    const stopClearing = page === 'docs/how-to/bfd.md' ? clearSessionsOfTor1() : undefined;
    try {
      expect(await follow(page, bed, prepare)).toBeGreaterThan(0);
    } finally {
      stopClearing?.();
    }
  });
});

/**
 * Resets the BGP sessions of tor1 every 30 s. FRR 8.4 sometimes runs no BFD with a neighbour of `bgp listen range` whose session was closed and came
 * back at once; it does after the next session.
 */
function clearSessionsOfTor1(): () => void {
  const router = fabric.bed.lab.router('tor1');
  const clear = (): void => void router.exec(['vtysh', '-N', router.namespace, '-c', 'clear bgp *'], { check: false });
  const timer = setInterval(clear, 30_000);
  return () => clearInterval(timer);
}
