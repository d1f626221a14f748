import { readdir, readFile, readlink } from 'node:fs/promises';

/** Process ids of programs with that name, as far as they can be seen, in the network namespace of this process. `root` is there for tests. */
export async function processesNamed(name: string, root = '/proc'): Promise<number[]> {
  const own = await readlink(`${root}/self/ns/net`).catch(() => undefined);
  const ids: number[] = [];
  for (const entry of await readdir(root)) {
    if (!/^\d+$/.test(entry)) continue;
    // One that ends meanwhile is none.
    const command = await readFile(`${root}/${entry}/comm`, 'utf8').catch(() => '');
    if (command.trim() !== name) continue;
    if ((await readlink(`${root}/${entry}/ns/net`).catch(() => undefined)) === own) ids.push(Number(entry));
  }
  return ids;
}
