import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemHost } from '../../../src/system/host.ts';

let root: string;
const put = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'herald-proc-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('system host', () => {
  test('reads and writes existing settings but creates none', async () => {
    await put('sys/net/ipv4/ip_forward', '0\n');
    const host = systemHost({ root });
    expect(await host.readSetting('net/ipv4/ip_forward')).toBe('0');
    expect(await host.writeSetting('net/ipv4/ip_forward', '1')).toBeUndefined();
    expect((await readFile(join(root, 'sys/net/ipv4/ip_forward'), 'utf8')).trim()).toBe('1');
    expect(await host.readSetting('net/ipv4/none')).toBeUndefined();
    expect(await host.writeSetting('net/ipv4/none', '1')).toBe('there is no such setting');
  });

  test('lists interfaces whose default route comes from a router advertisement, not from configuration', async () => {
    const any = '0'.repeat(32);
    const line = (length: string, flags: string, name: string): string =>
      `${any} ${length} ${any} 00 fe80${'0'.repeat(27)}1 00000400 00000001 00000000 ${flags} ${name}\n`;
    await put(
      'net/ipv6_route',
      line('00', '00450003', 'eth0') + line('00', '00000003', 'eth1') + line('40', '00450001', 'eth2') + line('00', '00200200', 'lo'),
    );
    expect(await systemHost({ root }).interfacesWithAdvertisedDefault()).toEqual(['eth0']);
    expect(await systemHost({ root: join(root, 'none') }).interfacesWithAdvertisedDefault()).toEqual([]);
  });

  test('lists the legacy iptables tables that are in use', async () => {
    await put('net/ip_tables_names', 'nat\nfilter\n');
    expect(await systemHost({ root }).legacyTables('ip')).toEqual(['nat', 'filter']);
    expect(await systemHost({ root }).legacyTables('ip6')).toEqual([]);
  });

  test('leaves loopback out of its interfaces', () => {
    expect(
      systemHost()
        .interfaces()
        .filter(({ address }) => address === '127.0.0.1' || address === '::1'),
    ).toEqual([]);
  });
});
