import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { wirelessInterfaces } from '../../../../src/dataplane/host/wireless-interfaces.ts';

test('L2-29 Wi-Fi interfaces are those with phy80211, wireless, or the device type wlan', async () => {
  const root = await mkdtemp(join(tmpdir(), 'herald-sys-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const uevents = {
    eth0: 'INTERFACE=eth0\nIFINDEX=2\n',
    wlan0: 'DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=3\n',
    wlp3s0: 'INTERFACE=wlp3s0\nIFINDEX=4\n',
    ra0: 'INTERFACE=ra0\nIFINDEX=5\n',
    wwan0: 'DEVTYPE=wwan\nINTERFACE=wwan0\nIFINDEX=6\n',
  };
  for (const [name, uevent] of Object.entries(uevents)) {
    await mkdir(join(root, 'class/net', name), { recursive: true });
    await writeFile(join(root, 'class/net', name, 'uevent'), uevent);
  }
  // phy80211 leads to the radio, which need not be visible in a container.
  await mkdir(join(root, 'class/ieee80211/phy0'), { recursive: true });
  await symlink('../../ieee80211/phy0', join(root, 'class/net/wlp3s0/phy80211'));
  await mkdir(join(root, 'class/net/ra0/wireless'));
  expect([...(await wirelessInterfaces([...Object.keys(uevents), 'gone0'], root))]).toEqual(['wlan0', 'wlp3s0', 'ra0']);
});
