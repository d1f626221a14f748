import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, networkInterfaces, uptime } from 'node:os';
import { listeningSockets, type ListeningSocket } from './listening-sockets.ts';

/** One address of a network interface that is up and is not the loopback. */
export interface HostInterface {
  readonly name: string;
  readonly address: string;
  /** Of the network that the address is in, in bits. */
  readonly length: number;
  /** Its own on the link: "02:00:00:00:00:01". */
  readonly linkAddress?: string;
}

/** The settings of this host's kernel, and what of its network they depend on. */
export interface Host {
  interfaces(): readonly HostInterface[];
  /** Sockets that take what comes to a port of this host. */
  listening(): Promise<readonly ListeningSocket[]>;
  /** Of the processor, as many as this process may use. */
  cores(): number;
  /** Since the machine was started. */
  uptimeMilliseconds(): number;
  /** Names of interfaces that have an IPv6 default route from a router advertisement. */
  interfacesWithAdvertisedDefault(): Promise<readonly string[]>;
  /** `path` is below /proc/sys. Undefined: there is no such setting, or it cannot be read. */
  readSetting(path: string): Promise<string | undefined>;
  /** Tables of legacy iptables that are in use: the tool itself would make the one that it is asked about. */
  legacyTables(family: 'ip' | 'ip6'): Promise<readonly string[]>;
  /** Why it could not be written; undefined: it was. */
  writeSetting(path: string, value: string): Promise<string | undefined>;
}

const errorTexts: Readonly<Record<string, string>> = {
  EROFS: '/proc/sys is mounted read-only',
  EACCES: 'not permitted',
  EPERM: 'not permitted',
  ENOENT: 'there is no such setting',
  EINVAL: 'the kernel does not take the value',
};

/**
 * Of the network namespace of this process. `settings`: where its settings are, which in a container may be mounted elsewhere than at
 * /proc/sys. `root` is there for tests.
 */
export function systemHost({
  root = '/proc',
  settings = `${root}/sys`,
}: { readonly root?: string; readonly settings?: string } = {}): Host {
  return {
    interfaces: () =>
      Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
        addresses.flatMap(({ address, cidr, internal, mac }): HostInterface[] => {
          const length = Number(cidr?.split('/')[1] ?? Number.NaN);
          return internal || Number.isNaN(length) ? [] : [{ name, address, length, linkAddress: mac }];
        }),
      ),
    uptimeMilliseconds: () => uptime() * 1000,
    listening: () => listeningSockets(root),
    cores: availableParallelism,
    async interfacesWithAdvertisedDefault() {
      const text = await readFile(`${root}/net/ipv6_route`, 'utf8').catch(() => '');
      return [...new Set(text.split('\n').flatMap((line) => advertisedDefaultOf(line) ?? []))];
    },
    async legacyTables(family) {
      const text = await readFile(`${root}/net/${family}_tables_names`, 'utf8').catch(() => '');
      return text.split('\n').filter((name) => name !== '');
    },
    async readSetting(path) {
      try {
        return (await readFile(`${settings}/${path}`, 'utf8')).trim();
      } catch {
        return undefined;
      }
    },
    async writeSetting(path, value) {
      try {
        await writeFile(`${settings}/${path}`, value, { flag: 'r+' });
        return undefined;
      } catch (error) {
        const { code = '', message } = error as NodeJS.ErrnoException;
        return errorTexts[code] ?? message;
      }
    },
  };
}

/** RTF_DEFAULT and RTF_ADDRCONF of linux/ipv6_route.h: the kernel made the route from a router advertisement. */
const routerRoute = 0x0001_0000 | 0x0004_0000;

/** One line of /proc/net/ipv6_route: destination, its length, source, its length, next hop, metric, references, use, flags, interface. */
function advertisedDefaultOf(line: string): string | undefined {
  const [, length, , , , , , , flags = '', name] = line.trim().split(/\s+/);
  return length === '00' && (Number.parseInt(flags, 16) & routerRoute) === routerRoute ? name : undefined;
}
