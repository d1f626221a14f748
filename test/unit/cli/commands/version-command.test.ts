import { expect, test } from 'vitest';
import { versionCommand } from '../../../../src/cli/commands/version-command.ts';
import { version } from '../../../../src/model/objects/version.ts';
import { inProcess } from '../in-process.ts';

test('herald version names this program, and why no other was asked', async () => {
  const { code, stdout } = await inProcess(versionCommand, []);
  expect(code).toBe(0);
  expect(stdout.split('\n')[0]).toBe(`herald ${version} (Node.js v24)`);
  expect(stdout).toContain('not queried: agents and controllers: no cluster was found');
  expect((await inProcess(versionCommand, ['--client', '-o', 'json'])).stdout).toBe(
    `${JSON.stringify({ client: { version, nodejs: 'v24' } }, undefined, 2)}\n`,
  );
});
