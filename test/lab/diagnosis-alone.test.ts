import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectTrue } from './diagnosis/agreement.ts';
import { aloneMistakes, manifestsBefore } from './diagnosis/all-cases.ts';
import { conditionCounts, eventReasons, explain, isSound, firstLine, problems, type Explained } from './diagnosis/faces.ts';
import { observe } from './diagnosis/facts.ts';
import type { Scene } from './diagnosis/misconfiguration.ts';
import { makeMistakes, repair, startStage, writeCase } from './diagnosis/stage.ts';

/** Mistakes that concern every Service, one after the other. The others are made together, in diagnosis.test.ts. */
let scene: Scene;

beforeAll(async () => {
  scene = await startStage([]);
});

afterAll(async () => {
  await scene?.lab.stop();
});

describe.each(aloneMistakes)('$one.mistake', (placed) => {
  const { one } = placed;
  const service = `${one.name}/web`;
  let explanation: Explained;

  beforeAll(async () => {
    await writeCase(scene, placed, manifestsBefore(placed));
    if (one.before === undefined) await untilServed();
    await makeMistakes(scene, [placed]);
    await scene.lab
      .until(`the verdict names ${one.code}`, async (note) => note(await explain(scene, service)).verdict.line === one.verdict, 60_000)
      // The first test shows what is there instead.
      .catch(() => undefined);
    explanation = await explain(scene, service);
  });

  afterAll(async () => {
    await repair(scene, [placed]);
    if (one.before === undefined) await untilServed();
    await scene.herald.remove(`${one.name}.yaml`);
  });

  async function untilServed(): Promise<void> {
    await scene.lab.until('the Service is served', async (note) => isSound(note(await explain(scene, service))));
  }

  test(`the verdict names ${one.code}`, async () => {
    expect(await firstLine(scene, service)).toBe(one.verdict);
    expect(explanation.verdict).toMatchObject({ line: one.verdict, code: one.code });
  });

  test('explain agrees with kernel, router and client', async () => {
    await expectTrue(scene, await observe(scene), explanation);
  });

  test('condition, Event, metric and status carry the code and the line', async () => {
    const { problems: rows } = await problems(scene);
    expect(rows).toContainEqual(expect.objectContaining({ object: `Service/${service}`, code: one.code, line: one.verdict }));
    const { condition } = one;
    if (condition === undefined) return;
    // An Event reports a negative condition that has lasted for 30 s.
    await scene.lab.until('an Event reports it', async (note) => note(await eventReasons(scene, service)).includes(one.code));
    const { conditions } = await scene.herald.service(one.name, 'web');
    expect(conditions[condition]).toMatchObject({ status: 'False', reason: one.code, message: one.verdict });
    expect((await conditionCounts(scene))(condition, 'False', one.code)).toBe(1);
  });
});
