import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runCommand } from '../../../src/dataplane/run-command.ts';

const module = join(import.meta.dirname, '../../../src/dataplane/run-command.ts');
const followModule = join(import.meta.dirname, '../../support/commands/follow-command.ts');
const bounds = { timeout: 10_000, outputBytes: 1000 };

test('a command that ends resolves, whatever its status', async () => {
  expect(await runCommand(['sh', '-c', 'cat; echo no >&2; exit 3'], 'yes', bounds)).toEqual({ status: 3, stdout: 'yes', stderr: 'no\n' });
});

test.each([
  ['unavailable', ['/no/such/program']],
  ['permission', ['/dev/null']],
  ['failed', ['sh', '-c', 'yes']],
] as const)('a command that cannot run to its end rejects: %s', async (code, command) => {
  await expect(runCommand(command, '', bounds)).rejects.toMatchObject({ name: 'DataplaneError', code });
});

test('a command that cannot start leaves no timer behind', async () => {
  const program = `
    import { runCommand } from ${JSON.stringify(module)};
    await runCommand(['/no/such/program'], '', { timeout: 3_600_000, outputBytes: 1000 }).catch((error) => console.log(error.code));
    console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 });
  expect(stdout).toBe('unavailable\n0\n');
});

test('a process without free file descriptors gets errors and goes on', async () => {
  const program = `
    import { ChildProcess } from 'node:child_process';
    import { openSync } from 'node:fs';
    import { runCommand } from ${JSON.stringify(module)};
    import { followCommand } from ${JSON.stringify(followModule)};
    const ended = Promise.withResolvers();
    ChildProcess.prototype.kill = () => console.log('a signal was sent');
    const say = (error) => console.log(error.name, error.code, error.message);
    await runCommand(['true'], '', { timeout: 10_000, outputBytes: 1000 });
    try { for (;;) openSync('/dev/null'); } catch {}
    await runCommand(['true'], '', { timeout: 10_000, outputBytes: 1000 }).catch(say);
    const followed = followCommand(['true'], 100, () => {}, (why) => ended.resolve(why));
    console.log(await ended.promise);
    await followed.stop();
    await followCommand(['true'], 100, () => {}, () => {}).stop();
  `;
  const limited = 'ulimit -n 100; exec "$0" --input-type=module -e "$1"';
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, process.execPath, program]);
  expect(stdout).toBe('DataplaneError unavailable cannot run true: spawn true EMFILE\nspawn true EMFILE\n');
}, 20_000);
