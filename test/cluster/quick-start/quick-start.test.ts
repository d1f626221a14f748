import { afterAll, beforeAll, expect, test } from 'vitest';
import { follow } from '../../docs/follow.ts';
import { Reader } from './reader.ts';
import { ReleaseFiles } from './release-files.ts';

const page = 'docs/quick-start.md';

/** The clusters of the page: as it begins, without kube-proxy, without Helm. */
const kubeProxies = ['nftables', 'none', 'nftables'] as const;

/** The time that the title of the page promises. */
const promisedSeconds = 600;

let files: ReleaseFiles;
let reader: Reader | undefined;

beforeAll(async () => {
  files = await ReleaseFiles.build();
});

afterAll(async () => {
  await reader?.stop();
  files?.remove();
});

test('a clone leads to a Service in ten minutes, by every way of the quick start', async () => {
  reader = await Reader.start(files, kubeProxies);
  const { entrance, programs, variables, checkout } = reader;
  const began = performance.now();
  let reached: number | undefined;
  const passed = (script: string): void => {
    if (script.startsWith('curl ')) reached ??= Math.round((performance.now() - began) / 1000);
  };
  await follow(page, { entrance, programs, variables, checkout, passed, renew: async () => reader?.renew() });
  console.log(`the newcomer reached the Service after ${reached} s`);
  expect(reached).toBeLessThan(promisedSeconds);
  expect(reader.remaining).toEqual([]);
}, 2_400_000);
