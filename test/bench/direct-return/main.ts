import process from 'node:process';
import { DataPlanes } from '../../lab/direct-return/cluster.ts';
import { endTogether } from '../../lab/ends-together.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { versionOf } from '../runner/versions.ts';
import { ThreeNodes, vip, type Layout } from '../../lab/direct-return/three-nodes.ts';
import type { Family } from '../../../src/net/address.ts';
import { waysOf } from './ways.ts';

/**
 * Measures how fast connections are opened through the first of three nodes, one after the other, each with one reply and a reset. Rounds
 * with address translation and with direct server return alternate. Two of three connections go to a pod of another node.
 */
const quick = process.argv.includes('--quick');
const rounds = quick ? 1 : 5;
const milliseconds = quick ? 500 : 2_000;
const families: readonly Family[] = [4, 6];

interface Rate {
  readonly connections: number;
  /** Microseconds. */
  readonly median: number;
}

interface Row {
  readonly layout: Layout;
  readonly by: string;
  readonly family: Family;
  /** Of the best round. */
  readonly perSecond: number;
  readonly medianMicroseconds: number;
}

endTogether();
const rows: Row[] = [];
for (const layout of ['link', 'routed'] as const) {
  const wishes = waysOf[layout];
  const lab = await ThreeNodes.start(layout);
  const planes = new DataPlanes(layout);
  const seen = new Map<string, Rate[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [by, wish] of wishes) {
      await planes.set(wish);
      for (const family of families) {
        const rate = await lab.ask<Rate>({ op: 'rate', address: vip(family), port: 80, milliseconds });
        const key = `${by} ${family}`;
        seen.set(key, [...(seen.get(key) ?? []), rate]);
      }
    }
  }
  await planes.close();
  lab.stop();
  for (const [by] of wishes) {
    for (const family of families) {
      const rates = seen.get(`${by} ${family}`) ?? [];
      rows.push({
        layout,
        by,
        family,
        perSecond: Math.max(...rates.map(({ connections }) => Math.round((connections * 1_000) / milliseconds))),
        medianMicroseconds: Math.min(...rates.map(({ median }) => median)),
      });
    }
  }
}

const under = conditions({ nft: versionOf(['nft', '--version']) });
if (process.argv.includes('--json')) console.log(JSON.stringify({ conditions: under, rounds, milliseconds, rows }));
else {
  console.log(`${conditionLines(under)}\n${rounds} rounds of ${milliseconds} ms, the best.\n`);
  console.log('| nodes | by | family | connections a second | median, µs |');
  console.log('|---|---|---|---:|---:|');
  for (const { layout, by, family, perSecond, medianMicroseconds } of rows)
    console.log(`| ${layout === 'link' ? 'on a link' : 'behind a router'} | ${by} | IPv${family} | ${perSecond} | ${medianMicroseconds} |`);
}
process.exit(0);
