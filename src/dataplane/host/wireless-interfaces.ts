import { access, readFile } from 'node:fs/promises';

/** Returns those of the interfaces that are Wi-Fi. Only tests pass `root`, the place of /sys. */
export async function wirelessInterfaces(names: readonly string[], root = '/sys'): Promise<ReadonlySet<string>> {
  const found = await Promise.all(names.map((name) => isWireless(`${root}/class/net/${name}`)));
  return new Set(names.filter((_, at) => found[at] === true));
}

/** Drivers of cfg80211 have phy80211; older ones have `wireless`, or tell only the device manager. */
async function isWireless(directory: string): Promise<boolean> {
  const exists = (file: string): Promise<boolean> =>
    access(`${directory}/${file}`).then(
      () => true,
      () => false,
    );
  if ((await exists('phy80211')) || (await exists('wireless'))) return true;
  const text = await readFile(`${directory}/uevent`, 'utf8').catch(() => '');
  return text.split('\n').includes('DEVTYPE=wlan');
}
