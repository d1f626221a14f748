import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ipPaths } from '../../../../src/dataplane/direct-return/ip-paths.ts';
import type { PathItem } from '../../../../src/dataplane/direct-return/paths.ts';

const fdb: PathItem = { kind: 'fdb', family: 4, text: '02:98:0a:00:00:02 dev herald-vx4 dst 10.0.0.2' };
const route: PathItem = { kind: 'route', family: 4, text: 'default via 10.0.0.2 table 7 proto 152' };

/** Runs the change with a shell in place of `ip` and `bridge`, and returns the commands with their input. */
async function commandsOf(add: readonly PathItem[], remove: readonly PathItem[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-ip-paths-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'calls');
  await ipPaths(['sh', '-c', `echo "$0 $*: $(cat)" >> '${file}'`]).change(add, remove);
  return (await readFile(file, 'utf8')).trim().split('\n');
}

test('entries of the forwarding database are changed by bridge, everything else by ip', async () => {
  expect(await commandsOf([fdb, route], [])).toEqual([
    `bridge -force -batch -: fdb replace ${fdb.text}`,
    `ip -4 -force -batch -: route replace ${route.text}`,
  ]);
  expect(await commandsOf([], [fdb, route])).toEqual([
    `ip -4 -force -batch -: route del ${route.text}`,
    `bridge -force -batch -: fdb del ${fdb.text}`,
  ]);
});

test('a change that another program has already made is no failure, and any other is', async () => {
  const failing = (text: string) => ipPaths(['sh', '-c', `echo '${text}' >&2; exit 1`]).change([route], []);
  await expect(failing('RTNETLINK answers: File exists')).resolves.toBeUndefined();
  await expect(failing('RTNETLINK answers: Network is unreachable')).rejects.toMatchObject({ code: 'failed' });
});
