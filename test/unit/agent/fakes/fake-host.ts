import type { UnservedPort } from '../../../../src/dataplane/localhost/node-ports.ts';
import { allowanceChain, type AllowanceChange, type HostFilter } from '../../../../src/net/host-filter.ts';
import type { ListeningSocket } from '../../../../src/system/listening-sockets.ts';
import type { Host, HostInterface } from '../../../../src/system/host.ts';

const well: Readonly<Record<string, string>> = {
  'net/ipv4/ip_forward': '1',
  'net/ipv4/conf/all/rp_filter': '0',
  'net/ipv4/conf/all/route_localnet': '0',
  'net/ipv4/conf/eth0/forwarding': '1',
  'net/ipv4/conf/eth0/rp_filter': '2',
  'net/ipv6/conf/all/forwarding': '1',
  'net/ipv6/conf/eth0/accept_ra': '2',
  'net/netfilter/nf_conntrack_tcp_be_liberal': '1',
  'net/netfilter/nf_conntrack_tcp_loose': '1',
  'net/netfilter/nf_conntrack_max': '262144',
  'net/netfilter/nf_conntrack_tcp_timeout_established': '86400',
  'net/netfilter/nf_conntrack_tcp_timeout_close_wait': '3600',
};

/** A host with one uplink. Its settings are right until a test changes them. */
export class FakeHost implements Host {
  readonly settings = new Map(Object.entries(well));
  /** Written settings in order: "net/ipv4/ip_forward=1". */
  readonly written: string[] = [];
  /** Why settings cannot be written, by path. */
  readonly refused = new Map<string, string>();
  list: HostInterface[] = [{ name: 'eth0', address: '10.0.0.1', length: 24 }];
  advertised: string[] = [];
  filters: readonly HostFilter[] = [];
  /** Why filters cannot be changed. */
  filtersRefused: string[] = [];
  /** Why the filters cannot be listed. */
  filtersError: Error | undefined;
  /** Changes of filters that were tried. */
  filterChanges = 0;

  /** Has every filter accept all packets that the change names, or none. */
  readonly changeAllowances = async (changes: readonly AllowanceChange[]): Promise<readonly string[]> => {
    this.filterChanges += changes.length;
    if (this.filtersRefused.length > 0) return this.filtersRefused;
    this.filters = this.filters.map((filter) => {
      const to = changes.find((change) => change.filter.table === filter.table)?.to;
      if (to === undefined) return { ...filter, chains: new Map() };
      const rule = { conditions: [], number: 1, text: '' } as const;
      const jump = { ...rule, packets: 'all', action: { kind: 'jump', chain: allowanceChain } } as const;
      const accept = { ...rule, packets: 'translated', action: { kind: 'accept' } } as const;
      return {
        ...filter,
        chains: new Map([
          [filter.chain, [jump]],
          [allowanceChain, [accept]],
        ]),
      };
    });
    return [];
  };

  unserved: readonly UnservedPort[] = [];

  /** Reports a change of a setting to the agent, as the kernel does. */
  reportSettings: () => void = () => undefined;

  readonly followSettings = (changed: () => void): (() => void) => {
    this.reportSettings = changed;
    return () => (this.reportSettings = () => undefined);
  };

  uptime = 3_600_000;

  uptimeMilliseconds(): number {
    return this.uptime;
  }

  interfaces(): readonly HostInterface[] {
    return this.list;
  }

  /** Interfaces of `allInterfaces` besides `list`. */
  loopbacks: HostInterface[] = [{ name: 'lo', address: '127.0.0.1', length: 8 }];

  allInterfaces(): readonly HostInterface[] {
    return [...this.loopbacks, ...this.list];
  }

  /** Addresses besides those of `list`. */
  others: string[] = ['127.0.0.1', '::1', 'fd00::1'];
  /** Addresses of interfaces that are not running. */
  bindable: string[] = [];

  addresses(): readonly string[] {
    return [...this.list.map(({ address }) => address), ...this.others];
  }

  async canBind(address: string): Promise<boolean> {
    return this.bindable.includes(address);
  }

  sockets: readonly ListeningSocket[] = [];

  async listening(): Promise<readonly ListeningSocket[]> {
    return this.sockets;
  }

  cores(): number {
    return 4;
  }

  async interfacesWithAdvertisedDefault(): Promise<readonly string[]> {
    return this.advertised;
  }

  async legacyTables(): Promise<readonly string[]> {
    return [];
  }

  async readSetting(path: string): Promise<string | undefined> {
    return this.settings.get(path);
  }

  async writeSetting(path: string, value: string): Promise<string | undefined> {
    const refused = this.refused.get(path);
    if (refused !== undefined) return refused;
    this.settings.set(path, value);
    this.written.push(`${path}=${value}`);
    return undefined;
  }
}
