import { readdir, readFile, readlink } from 'node:fs/promises';

/** Returns the ids of visible processes with this name in the network namespace of this process. Only tests pass `root`. */
export async function processesNamed(name: string, root = '/proc'): Promise<number[]> {
  const own = await readlink(`${root}/self/ns/net`).catch(() => undefined);
  const ids: number[] = [];
  for (const entry of await readdir(root)) {
    if (!/^\d+$/.test(entry)) continue;
    // A process that ends during the scan is left out.
    const command = await readFile(`${root}/${entry}/comm`, 'utf8').catch(() => '');
    if (command.trim() !== name) continue;
    if ((await readlink(`${root}/${entry}/ns/net`).catch(() => undefined)) === own) ids.push(Number(entry));
  }
  return ids;
}
