import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { platform } from 'node:process';
import type { CommandContext } from '../../context/command-context.ts';

/**
 * Opens an address in the user's browser, where there is a desktop. The address is handed over in a file of the user, because every user of
 * the host sees the words of a command line. Returns a function that removes the file.
 */
export async function openBrowser({ variables }: Pick<CommandContext, 'variables'>, address: string): Promise<() => Promise<void>> {
  const opener = openerOf(variables);
  if (opener === undefined) return async () => undefined;
  const folder = await mkdtemp(join(tmpdir(), 'herald-ui-'));
  const file = join(folder, 'open.html');
  await writeFile(file, `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}">\n`, { mode: 0o600 });
  const browser = spawn(opener, [file], { stdio: 'ignore', detached: true });
  // Without a browser, the printed address is enough.
  browser.on('error', () => undefined);
  browser.unref();
  return () => rm(folder, { recursive: true, force: true });
}

function openerOf(variables: CommandContext['variables']): string | undefined {
  if (platform === 'darwin') return 'open';
  const hasDesktop = [variables['DISPLAY'], variables['WAYLAND_DISPLAY']].some((one) => one !== undefined && one !== '');
  return platform === 'linux' && hasDesktop ? 'xdg-open' : undefined;
}
