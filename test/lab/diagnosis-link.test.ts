import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkMistakes, soundManifests } from './diagnosis/cases/link.ts';
import { AgentsOnSegment, vip, vip6 } from './l2-agents/agents-on-segment.ts';
import { until } from './until.ts';

/** Mistakes on a link without routers, one after the other. */
let bed: AgentsOnSegment;

beforeAll(async () => {
  bed = await AgentsOnSegment.build({ nodes: 2, manifests: soundManifests() });
  await bed.watch.ask([vip, vip6]);
  await bed.untilOwner(0);
});
afterAll(async () => {
  await bed?.close();
});

async function verdict(service: string): Promise<string> {
  const { stdout } = await bed.herald('explain', 'service', service, '--source', bed.directory, '--no-ask');
  return stdout.split('\n')[0] ?? '';
}

async function untilServed(): Promise<void> {
  await until('the Service is served', async (note) =>
    /^(?:Served|Announced, not checked): .* via n0;/.test(note(await verdict('shop/web'))),
  );
}

describe.each(linkMistakes)('$mistake', ({ make, undo, service, code, verdict: expected }) => {
  beforeAll(async () => {
    await untilServed();
    await make(bed);
    await until('the verdict is there', async (note) => note(await verdict(service)) === expected, 25_000).catch(() => undefined);
  });
  afterAll(async () => {
    await undo(bed);
    await untilServed();
  });

  test(`the verdict, and the row of status --problems, name ${code}`, async () => {
    expect(await verdict(service)).toBe(expected);
    const { stdout } = await bed.herald('status', '--problems', '--source', bed.directory, '--no-ask', '-o', 'json');
    const { problems } = JSON.parse(stdout) as { problems: readonly { object: string; code: string; line: string }[] };
    expect(problems).toContainEqual(expect.objectContaining({ object: `Service/${service}`, code, line: expected }));
  });
});
