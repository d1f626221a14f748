import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, networkInterfaces, uptime } from 'node:os';
import { listeningSockets, type ListeningSocket } from './listening-sockets.ts';

/** One address of a network interface that is up. Loopback interfaces are left out. */
export interface HostInterface {
  readonly name: string;
  readonly address: string;
  /** Prefix length of the address, in bits. */
  readonly length: number;
  /** Link-layer address of the interface, such as "02:00:00:00:00:01". */
  readonly linkAddress?: string;
}

/** This host: its interfaces, listening sockets and kernel settings. */
export interface Host {
  interfaces(): readonly HostInterface[];
  /** The same with loopback interfaces. */
  allInterfaces(): readonly HostInterface[];
  /** All addresses of this host, also those of loopback interfaces. */
  addresses(): readonly string[];
  /** True if the kernel lets a program bind to the address: it belongs to this host, also while its link has no carrier. */
  canBind(address: string): Promise<boolean>;
  /** Sockets that receive connections or datagrams on a port of this host. */
  listening(): Promise<readonly ListeningSocket[]>;
  /** Number of processor cores that this process may use. */
  cores(): number;
  /** Time since the machine booted. */
  uptimeMilliseconds(): number;
  /** Names of interfaces that have an IPv6 default route from a router advertisement. */
  interfacesWithAdvertisedDefault(): Promise<readonly string[]>;
  /** Reads a setting. `path` is relative to /proc/sys. Returns undefined when the setting does not exist or cannot be read. */
  readSetting(path: string): Promise<string | undefined>;
  /**
   * Returns the tables of legacy iptables that exist. It does not run iptables, because iptables would create the table it is asked about.
   */
  legacyTables(family: 'ip' | 'ip6'): Promise<readonly string[]>;
  /** Writes a setting. Returns the reason when that fails, undefined on success. */
  writeSetting(path: string, value: string): Promise<string | undefined>;
}

const errorTexts: Readonly<Record<string, string>> = {
  EROFS: '/proc/sys is mounted read-only',
  EACCES: 'not permitted',
  EPERM: 'not permitted',
  ENOENT: 'there is no such setting',
  EINVAL: 'the kernel rejects the value',
};

/**
 * The host in the network namespace of this process. `settings` is the directory of /proc/sys, which a container may mount elsewhere. Only
 * tests pass `root`.
 */
export function systemHost({
  root = '/proc',
  settings = `${root}/sys`,
}: { readonly root?: string; readonly settings?: string } = {}): Host {
  return {
    interfaces: () => listInterfaces((internal) => !internal),
    allInterfaces: () => listInterfaces(() => true),
    addresses: () => Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address)),
    canBind,
    uptimeMilliseconds: () => uptime() * 1000,
    listening: () => listeningSockets(root),
    cores: availableParallelism,
    async interfacesWithAdvertisedDefault() {
      const text = await readFile(`${root}/net/ipv6_route`, 'utf8').catch(() => '');
      return [...new Set(text.split('\n').flatMap((line) => advertisedDefaultOf(line) ?? []))];
    },
    async legacyTables(family) {
      const text = readNow(`${root}/net/${family}_tables_names`) ?? '';
      return text.split('\n').filter((name) => name !== '');
    },
    async readSetting(path) {
      return readNow(`${settings}/${path}`)?.trim();
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

function listInterfaces(isWanted: (internal: boolean) => boolean): HostInterface[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.flatMap(({ address, cidr, internal, mac }): HostInterface[] => {
      const length = Number(cidr?.split('/')[1] ?? Number.NaN);
      return !isWanted(internal) || Number.isNaN(length) ? [] : [{ name, address, length, linkAddress: mac }];
    }),
  );
}

/**
 * Reads a short file of the kernel, which answers at once. Reading in another thread costs ten times the processor time, and the agent
 * reads dozens of them every few seconds.
 */
function readNow(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function canBind(address: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.once('error', () => resolve(false));
  socket.bind({ address, port: 0, exclusive: true }, () => {
    socket.close();
    resolve(true);
  });
  return promise;
}

/** RTF_DEFAULT and RTF_ADDRCONF of linux/ipv6_route.h: the kernel created the route from a router advertisement. */
const routerRoute = 0x0001_0000 | 0x0004_0000;

/**
 * Parses one line of /proc/net/ipv6_route: destination, its length, source, its length, next hop, metric, references, use, flags,
 * interface.
 */
function advertisedDefaultOf(line: string): string | undefined {
  const [, length, , , , , , , flags = '', name] = line.trim().split(/\s+/);
  return length === '00' && (Number.parseInt(flags, 16) & routerRoute) === routerRoute ? name : undefined;
}
