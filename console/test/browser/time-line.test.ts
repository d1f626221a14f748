import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HistoryView } from '../../../src/console/contract.ts';
import { until } from '../../../test/lab/until.ts';
import { startStage, visit, type Stage, type Visitor } from './stage.ts';

let stage: Stage;
let visitor: Visitor;

beforeAll(async () => {
  stage = await startStage();
  visitor = await visit(stage);
});

afterAll(async () => {
  await stage?.stop();
});

describe('the time line', () => {
  interface Window {
    readonly from: number;
    readonly to: number;
  }
  /** The part of the time that the URL names, in milliseconds. */
  const shown = (): Window => {
    const { searchParams } = new URL(visitor.page.url());
    return { from: Date.parse(searchParams.get('from') ?? ''), to: Date.parse(searchParams.get('to') ?? '') };
  };
  const lanes = () => visitor.page.locator('.lanes');
  const points = () => lanes().locator('.point');
  const press = (name: string): Promise<void> => visitor.page.getByRole('button', { name, exact: true }).click();

  /** Where each mark is, in pixels from the left of the page. */
  async function places(): Promise<readonly number[]> {
    const boxes = await Promise.all((await points().all()).map((point) => point.boundingBox()));
    return boxes.flatMap((box) => (box === null ? [] : [box.x + box.width / 2])).toSorted((a, b) => a - b);
  }

  /** Opens a part of the time that lasts and has every event, with room on both sides. */
  async function openPart(): Promise<Window> {
    const { entries } = (await visitor.page.evaluate('fetch("/api/history").then((answer) => answer.json())')) as HistoryView;
    const times = entries.map(({ at }) => Date.parse(at));
    const from = Math.min(...times) - 5000;
    // A whole number of seconds for each quarter, because the URL has whole milliseconds.
    const to = from + Math.ceil((Math.max(...times) + 5000 - from) / 4000) * 4000;
    await visitor.open(`/history?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`);
    await points().first().waitFor();
    return { from, to };
  }

  test('shows the part over which the pointer is dragged, with its events alone', async () => {
    const { mouse } = visitor.page;
    const before = await openPart();
    const box = await lanes().boundingBox();
    const all = await places();
    if (box === null || all.length < 2) throw new Error('the time line has fewer than two events');
    const [x1, x2] = [((all[0] ?? 0) + (all.at(-1) ?? 0)) / 2, box.x + box.width];
    await mouse.move(x1, box.y + 10);
    await mouse.down();
    await mouse.move((x1 + x2) / 2, box.y + 10);
    await lanes().locator('.part').waitFor();
    await mouse.move(x2 - 1, box.y + 10);
    await mouse.up();
    await until('the URL names the part', async () => shown().from > before.from);
    // The drawing of 1,000 units has the time from 146 to 984.
    const begin = before.from + ((((x1 - box.x) / box.width) * 1000 - 146) / (984 - 146)) * (before.to - before.from);
    expect(Math.abs(shown().from - begin)).toBeLessThan((before.to - before.from) / 100);
    expect(Math.abs(shown().to - before.to)).toBeLessThan((before.to - before.from) / 100);
    const inside = all.filter((x) => x >= x1).length;
    expect(inside).toBeLessThan(all.length);
    await until('only the events of the part have a mark', async () => (await points().count()) === inside);
    expect(await lanes().locator('.part').count()).toBe(0);
    await visitor.page.reload();
    await until('the URL keeps the part', async () => (await points().count()) === inside);
  });

  test('does not zoom when the pointer only clicks', async () => {
    const before = await openPart();
    await lanes().click({ position: { x: 400, y: 10 } });
    expect(shown()).toEqual(before);
  });

  test('zooms and moves by buttons too, and goes back to everything', async () => {
    const { from, to } = await openPart();
    const quarter = (to - from) / 4;
    await press('Zoom in');
    expect(shown()).toEqual({ from: from + quarter, to: to - quarter });
    await press('Later');
    expect(shown()).toEqual({ from: from + 2 * quarter, to });
    await press('Earlier');
    await press('Zoom out');
    expect(shown()).toEqual({ from, to });
    await press('All, up to now');
    expect(visitor.page.url()).not.toContain('from=');
    expect(await visitor.page.getByRole('button', { name: 'All, up to now' }).isDisabled()).toBe(true);
  });
});
