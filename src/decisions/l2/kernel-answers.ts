import { formatAddress, sameAddress, type Address, type Family } from '../../net/address.ts';
import type { HostLink, NeighborProxy } from '../../net/host-link.ts';
import { sysctlName, type ReadSetting } from '../host/kernel-setting.ts';

/** Facts of a host that decide if its kernel answers ARP or NDP. */
export interface KernelAnswerFacts {
  readonly links: readonly HostLink[];
  readonly proxies: readonly NeighborProxy[];
  readonly read: ReadSetting;
  /** Returns the interface by which the kernel sends packets to an address. Undefined: by none, or it is not known. */
  readonly outgoing: (address: Address) => string | undefined;
}

/** Why the kernel answers for an address although no program asked it to. */
export interface KernelAnswer {
  readonly because: string;
  /** A command, or what to do. */
  readonly remedy: string;
}

const pathOf = (family: Family, name: string, key: string): string => `net/ipv${family}/conf/${name}/${key}`;

/** Returns the paths of the settings that `kernelAnswer` reads for these interfaces. */
export function kernelAnswerPaths(interfaces: readonly string[]): string[] {
  return ['all', ...interfaces].flatMap((name) => [
    pathOf(4, name, 'arp_ignore'),
    pathOf(4, name, 'proxy_arp'),
    pathOf(4, name, 'forwarding'),
    pathOf(6, name, 'proxy_ndp'),
    pathOf(6, name, 'forwarding'),
  ]);
}

/** True if the kernel may answer as a proxy, so that `outgoing` is needed. */
export function mayProxy(networkInterface: string, { proxies, read }: Pick<KernelAnswerFacts, 'proxies' | 'read'>): boolean {
  return isOn(read, 4, networkInterface, 'proxy_arp') || proxies.some((proxy) => proxy.interface === networkInterface);
}

/** Returns why the kernel answers requests for the address that come in by the interface. Undefined: it does not. */
export function kernelAnswer(address: Address, networkInterface: string, facts: KernelAnswerFacts): KernelAnswer | undefined {
  const holder = holderOf(address, networkInterface, facts);
  if (holder === networkInterface) {
    const text = `${formatAddress(address)}/${address.family === 4 ? 32 : 128}`;
    return { because: `the address is on ${holder}`, remedy: `run ip address del ${text} dev ${holder}` };
  }
  return address.family === 4 ? arpAnswer(address, networkInterface, holder, facts) : ndpProxy(address, networkInterface, facts);
}

/** The interface that has the address: the one that is asked if several do. */
function holderOf(address: Address, networkInterface: string, { links }: KernelAnswerFacts): string | undefined {
  const names = links.flatMap(({ name, addresses }) => (addresses.some((one) => sameAddress(one.address, address)) ? [name] : []));
  return names.find((name) => name === networkInterface) ?? names[0];
}

/** With these values of arp_ignore the kernel keeps silent about addresses of other interfaces. */
const silent: ReadonlySet<number> = new Set([1, 2, 8]);

function arpAnswer(
  address: Address,
  networkInterface: string,
  holder: string | undefined,
  { read, proxies, outgoing }: KernelAnswerFacts,
): KernelAnswer | undefined {
  const value = Math.max(...['all', networkInterface].map((name) => Number(read(pathOf(4, name, 'arp_ignore')) ?? 0)));
  if (holder !== undefined) {
    if (silent.has(value)) return undefined;
    const all = sysctlName({ path: pathOf(4, 'all', 'arp_ignore') });
    return {
      because: `the address is on ${holder}, and arp_ignore of ${networkInterface} is ${value}`,
      remedy: `run sysctl -w ${all}=1 (kube-proxy does it with ipvs.strictARP: true), or take the address from ${holder}`,
    };
  }
  const by = outgoing(address);
  if (by === undefined || by === networkInterface || read(pathOf(4, networkInterface, 'forwarding')) === '0') return undefined;
  const route = `its route leaves by ${by}`;
  if (proxies.some((proxy) => proxy.interface === networkInterface && sameAddress(proxy.address, address))) {
    const text = formatAddress(address);
    return {
      because: `${networkInterface} has a proxy entry for it (ip neighbor show proxy), and ${route}`,
      remedy: `run ip neighbor del proxy ${text} dev ${networkInterface}`,
    };
  }
  const on = ['all', networkInterface].filter((name) => read(pathOf(4, name, 'proxy_arp')) === '1');
  if (on.length === 0) return undefined;
  const names = on.map((name) => sysctlName({ path: pathOf(4, name, 'proxy_arp') }));
  return {
    because: `${names.join(' and ')} is 1, and ${route}`,
    remedy: `run sysctl -w ${names.map((name) => `${name}=0`).join(' ')}`,
  };
}

/** For NDP the kernel has no addresses of other interfaces, and looks at no route. */
function ndpProxy(address: Address, networkInterface: string, { read, proxies }: KernelAnswerFacts): KernelAnswer | undefined {
  const isProxied = proxies.some((proxy) => proxy.interface === networkInterface && sameAddress(proxy.address, address));
  if (!isProxied || !isOn(read, 6, networkInterface, 'proxy_ndp') || read(pathOf(6, networkInterface, 'forwarding')) === '0')
    return undefined;
  return {
    because: `${networkInterface} has a proxy entry for it (ip neighbor show proxy), and proxy_ndp is 1`,
    remedy: `run ip neighbor del proxy ${formatAddress(address)} dev ${networkInterface}`,
  };
}

function isOn(read: ReadSetting, family: Family, name: string, key: string): boolean {
  return ['all', name].some((one) => read(pathOf(family, one, key)) === '1');
}
