import { expect, test } from 'vitest';
import { DirectorySource } from '../../../../src/sources/directory/directory-source.ts';
import { systemClock, type Clock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { serviceYaml, Workbench } from './workbench.ts';

const record = (name: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: ${name}}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}\n`;

/** A clock for which every step takes longer than a time slice. `onPause` is called whenever work is interrupted. */
function slowClock(onPause: () => void): Clock {
  let now = 0;
  return {
    ...systemClock,
    now: () => (now += 1000),
    after: (milliseconds, callback) => {
      if (milliseconds === 0) onPause();
      return systemClock.after(milliseconds, callback);
    },
  };
}

const names = Array.from({ length: 10 }, (_, n) => `s${n}`);
const manifests = (network: string): Record<string, string> =>
  Object.fromEntries(names.map((name, n) => [`${name}.yaml`, serviceYaml(name, `${network}.${n}`)]));

test('the source lets timers run between files, and later programs never see half of a batch', async () => {
  await using before = await Workbench.over(manifests('10.96.0'));
  await using after = await Workbench.over({
    ...manifests('10.96.1'),
    ...Object.fromEntries(names.map((name) => [`.herald/status/services/shop/${name}.yaml`, record(name)])),
  });
  const seen: string[] = [];
  const shown = (): string =>
    JSON.stringify(
      [...source.snapshot.services.values()].map(({ clusterIPs, ingress }) => [clusterIPs, ingress]),
      (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
  const source = new DirectorySource(before.path('.'), { clock: slowClock(() => void seen.push(shown())), log: silentLog });
  await source.start();
  expect(seen.length).toBeGreaterThanOrEqual(2 * names.length);

  const atFirst = shown();
  seen.length = 0;
  await source.replaceBy(after.path('.'));
  expect(shown()).not.toBe(atFirst);
  expect(seen.length).toBeGreaterThanOrEqual(names.length);
  expect(new Set(seen)).toEqual(new Set([atFirst]));
  await source.close();
});
