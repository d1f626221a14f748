import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectTrue } from './diagnosis/agreement.ts';
import { explain, firstLine, problems, withoutTimes, type Explained, type Problem } from './diagnosis/faces.ts';
import { fabricOf } from './diagnosis/fabric.ts';
import { observe, type Facts } from './diagnosis/facts.ts';
import type { Scene } from './diagnosis/misconfiguration.ts';
import { poolAddresses } from './diagnosis/place.ts';
import { makeMistakes, repair, startStage } from './diagnosis/stage.ts';
import { chosenTruths, type PlacedTruth } from './diagnosis/truth/all-truths.ts';
import { connectTo } from './diagnosis/truth/truth-case.ts';

/**
 * Mistakes that show in nothing but what becomes of connections. They are made together: each has addresses or ports of its own. Clients connect
 * before them, after them and after the fixes.
 */
const nodes = ['node1', 'node2', 'node3'];
let scene: Scene;

beforeAll(async () => {
  scene = await startStage(chosenTruths, { nodes, fabric: fabricOf(nodes, { services: 'all' }) });
});

afterAll(async () => {
  await scene?.lab.stop();
});

let connects: (placed: PlacedTruth) => boolean = () => true;

const connect = ({ one, place }: PlacedTruth): Promise<void> => (one.connect ?? connectTo)(scene, place);

/**
 * Lets clients connect until every explanation is as wanted, and returns the last of each. What is not is shown by the test of the case. Clients
 * connect seldom: agents look at connections less often when there are many.
 */
async function explainUntil(
  what: string,
  cases: readonly PlacedTruth[],
  isWanted: (explanation: Explained, placed: PlacedTruth) => boolean,
): Promise<ReadonlyMap<string, Explained>> {
  const found = new Map<string, Explained>();
  const open = new Set(cases);
  let connected = Number.NEGATIVE_INFINITY;
  await scene.lab
    .until(
      what,
      async (note) => {
        if (performance.now() - connected > 40_000) {
          await Promise.all([...open].filter(connects).map(connect));
          connected = performance.now();
        }
        await setTimeout(5000);
        for (const placed of open) {
          const explanation = await explain(scene, `${placed.one.name}/web`);
          found.set(placed.one.name, explanation);
          if (isWanted(explanation, placed)) open.delete(placed);
        }
        return note([...open].map(({ one }) => one.name)).length === 0;
      },
      240_000,
    )
    .catch(() => undefined);
  return found;
}

const outcome = ({ verdict }: Explained): string => verdict.outcome;

describe('before the mistakes', () => {
  let found: ReadonlyMap<string, Explained>;

  beforeAll(async () => {
    connects = ({ one }) => one.isQuietBefore !== true;
    found = await explainUntil('all Services are served', chosenTruths, (explanation, { one }) => outcome(explanation) === soundOf(one));
    connects = () => true;
  });

  const soundOf = ({ isQuietBefore }: PlacedTruth['one']): string => (isQuietBefore === true ? 'announced' : 'served');

  test.each(chosenTruths)('explain says that $one.name is sound', ({ one }) => {
    expect(found.get(one.name)?.verdict.line).toMatch(one.isQuietBefore === true ? /^Announced, not checked/ : /^Served/);
  });
});

describe('after the mistakes', () => {
  let found: ReadonlyMap<string, Explained>;
  let facts: Facts;
  let rows: readonly Problem[];

  beforeAll(async () => {
    await makeMistakes(scene, chosenTruths);
    found = await explainUntil(
      'the verdicts name the mistakes',
      chosenTruths,
      ({ verdict }, { one }) => one.gap !== undefined || withoutTimes(verdict.line) === one.verdict,
    );
    facts = await observe(scene);
    ({ problems: rows } = await problems(scene));
  });

  describe.each(chosenTruths)('$one.mistake', (placed) => {
    const { one, place } = placed;

    const judged = one.gap === undefined ? test : test.fails;

    judged('the verdict is true', async () => {
      expect(withoutTimes(await firstLine(scene, `${one.name}/web`))).toBe(one.verdict);
      expect(found.get(one.name)?.verdict.code).toBe(one.code);
    });

    test.skipIf(one.gap !== undefined || one.code === undefined)('status lists the Service with its cause', () => {
      const row = rows.find(({ object, others = [] }) => [object, ...others].includes(`Service/${one.name}/web`));
      expect(row?.code).toBe(one.code);
    });

    test.skipIf(one.gap !== undefined)('explain agrees with kernel, router and client', async () => {
      if (one.answers !== undefined) return expect(await one.answers(scene, place)).toBe(0);
      const explanation = await explain(scene, `${one.name}/web`);
      if (one.isUnseen !== true) return expectTrue(scene, facts, explanation);
      const reports = await Promise.all(
        poolAddresses(place, 1).map((address) => scene.lab.client.tcp({ address, port: 80, count: 6, timeoutMs: 1500 })),
      );
      expect(reports.map(({ failed }) => failed)).toEqual([6, 6]);
    });
  });
});

describe('after the fixes', () => {
  let found: ReadonlyMap<string, Explained>;

  beforeAll(async () => {
    await repair(scene, chosenTruths);
    found = await explainUntil('all Services are served again', chosenTruths, (explanation) => outcome(explanation) === 'served');
  });

  test.each(chosenTruths)('explain says Served of $one.name again', ({ one }) => {
    expect(found.get(one.name)?.verdict.line).toMatch(/^Served/);
  });
});
