import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ipCommand } from '../../../support/commands/ip-command.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';

/** A shell that runs the script instead of `ip`; its arguments are those of `ip`. */
const scripted = (script: string) => ipCommand(['sh', '-c', script]);

test('the routes of both families and the families without our rule are read', async () => {
  const routes = scripted(`case "$*" in
    *-4*route*) echo 'unreachable 192.0.2.0/24 metric 0'; echo 'unreachable 198.51.100.7 metric 0'; echo 'unreachable default' ;;
    *-6*route*) echo 'unreachable 2001:db8::7 dev lo metric 1024'; echo 'no route' ;;
    *-4*rule*) echo '32152: not from all iif lo lookup 152 proto 152' ;;
  esac`);
  const { prefixes, unruled } = await routes.list();
  expect(prefixes.map(formatPrefix)).toEqual(['192.0.2.0/24', '198.51.100.7/32', '0.0.0.0/0', '2001:db8::7/128']);
  expect([...(unruled ?? [])]).toEqual([6]);
});

test('a table that does not exist has no routes', async () => {
  const routes = scripted(`case "$*" in *route*) echo 'Error: ipv4: FIB table does not exist.' >&2; exit 2 ;; esac`);
  expect((await routes.list()).prefixes).toEqual([]);
});

test.each([
  ['permission', 'RTNETLINK answers: Operation not permitted'],
  ['failed', 'Error: something else.'],
])('a list and a change that fail are an error with code %s', async (code, text) => {
  const routes = scripted(`echo '${text}' >&2; exit 2`);
  await expect(routes.list()).rejects.toMatchObject({ code, message: text });
  await expect(routes.change([prefix('192.0.2.0/24')], [])).rejects.toMatchObject({ code, message: text });
});

test('a failure without a text names the status', async () => {
  await expect(scripted('exit 3').list()).rejects.toMatchObject({ code: 'failed', message: 'ip ended with status 3' });
});

test('a change that another program has already made is no failure', async () => {
  const routes = scripted(`echo 'RTNETLINK answers: File exists' >&2; exit 2`);
  await expect(routes.change([prefix('192.0.2.0/24')], [])).resolves.toBeUndefined();
});

test('the rule goes with the last route of its family', async () => {
  const removed = async (left: string): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'herald-ip-command-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'calls');
    const routes = scripted(`echo "$*" >> '${file}'; case "$*" in *show*) echo '${left}' ;; esac`);
    await routes.change([], [prefix('192.0.2.0/24')]);
    return await readFile(file, 'utf8');
  };
  expect(await removed('')).toContain('-4 rule del pref 32152 not iif lo lookup 152 protocol 152');
  expect(await removed('unreachable 198.51.100.0/24')).not.toContain('rule del');
});
