import { rm } from 'node:fs/promises';
import { FrrDaemons } from '../../peers/frr-daemons.ts';
import { directoriesOf, hostRoot } from '../../peers/root.ts';
import { Client } from '../client.ts';
import { run } from '../command.ts';
import { bgpdConfig } from '../frr-config.ts';
import type { Manifest } from '../host/objects.ts';
import { inNamespace, ip, prepareNamespace } from '../namespace.ts';
import { signal, type ProcessIdentity } from '../owner.ts';
import type { AgentsOnSegment } from './agents-on-segment.ts';
import { nodeAddress, nodeAddress6 } from './manifests.ts';

type Family = 4 | 6;

const asn = { nodes: 64512, router: 65001 } as const;

/** The addresses of the client behind the router. */
export const remoteClient = { 4: '10.78.0.2', 6: 'fd78::2' } as const;

/** Two strangers of a segment: a router that runs FRR, and a client that is connected to the router alone. */
export class SegmentRouter {
  readonly client: Client;
  readonly #lab: AgentsOnSegment;
  readonly #host: number;
  readonly #daemons: FrrDaemons;
  readonly #identities: ProcessIdentity[] = [];

  private constructor(lab: AgentsOnSegment) {
    this.#lab = lab;
    this.#host = lab.strangerHost(0);
    this.#daemons = new FrrDaemons(hostRoot, { name: lab.segment.name, router: this.#namespace });
    this.client = new Client(lab.segment.host(lab.strangerHost(1)), (identity) => void this.#identities.push(identity));
  }

  /** Starts FRR, which accepts sessions from all nodes, and gives the nodes routes to the client behind it. */
  static async start(lab: AgentsOnSegment, nodes: readonly number[]): Promise<SegmentRouter> {
    const router = new SegmentRouter(lab);
    await router.#addClient();
    const { 4: own, 6: own6 } = router.addresses;
    for (const at of nodes) await ip([`route add 10.78.0.0/24 via ${own}`, `route add fd78::/64 via ${own6}`], lab.segment.host(at));
    const listen = { asn: asn.nodes, prefixes: ['10.77.0.0/24', 'fd77::/64'] };
    const configuration = bgpdConfig({ asn: asn.router, routerId: own, neighbors: [], listen });
    await router.#daemons.start(configuration, { bgpd: [] });
    return router;
  }

  get addresses(): Readonly<Record<Family, string>> {
    return { 4: nodeAddress(this.#host), 6: nodeAddress6(this.#host) };
  }

  /** Returns the BGPPeers that give each node a session for each family. */
  static peers(addresses: Readonly<Record<Family, string>>): Manifest[] {
    return ([4, 6] as const).map((family) => ({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name: `router-v${family}` },
      spec: {
        myASN: asn.nodes,
        peerASN: asn.router,
        peerAddress: addresses[family],
        holdTime: '9s',
        keepaliveTime: '3s',
        connectTime: '1s',
      },
    }));
  }

  /** Returns the next hops of the paths that bgpd uses for a host route, sorted. */
  async bgpNextHops(address: string): Promise<readonly string[]> {
    interface Path {
      readonly multipath?: boolean;
      readonly bestpath?: { readonly overall?: boolean };
      readonly nexthops?: readonly { readonly ip: string; readonly used?: boolean; readonly scope?: string }[];
    }
    const prefix = address.includes(':') ? `ipv6 unicast ${address}/128` : `ipv4 unicast ${address}/32`;
    const { paths = [] } = JSON.parse(await this.#daemons.vtysh(`show bgp ${prefix} json`)) as { paths?: readonly Path[] };
    const used = paths.filter(({ multipath, bestpath }) => multipath === true || bestpath?.overall === true);
    return used.flatMap(({ nexthops = [] }) => nexthops.filter(({ scope }) => scope !== 'link-local').map((hop) => hop.ip)).toSorted();
  }

  /** Returns the gateways of the kernel's route of BGP to exactly this address, sorted. */
  async kernelNextHops(address: string): Promise<readonly string[]> {
    interface Route {
      readonly gateway?: string;
      readonly nexthops?: readonly { readonly gateway: string }[];
    }
    const family = address.includes(':') ? '-6' : '-4';
    const { stdout } = await run(['ip', '-j', '-n', this.#namespace, family, 'route', 'show', 'exact', address, 'proto', 'bgp']);
    const routes = JSON.parse(stdout === '' ? '[]' : stdout) as readonly Route[];
    return routes.flatMap(({ gateway, nexthops }) => nexthops?.map((hop) => hop.gateway) ?? gateway ?? []).toSorted();
  }

  /** Returns what the router's kernel knows by ARP or NDP about an address. */
  neighbour(address: string): string {
    return this.#lab.segment.run(this.#host, 'ip', 'neigh', 'show', 'to', address);
  }

  async close(): Promise<void> {
    await this.#daemons.programs.end('SIGKILL');
    for (const identity of this.#identities) signal(identity, 'SIGKILL');
    const { name } = this.#lab.segment;
    for (const directory of directoriesOf(hostRoot)) await rm(`${directory}/${name}`, { recursive: true, force: true });
  }

  get #namespace(): string {
    return this.#lab.segment.host(this.#host);
  }

  async #addClient(): Promise<void> {
    const { segment } = this.#lab;
    const client = segment.host(this.#lab.strangerHost(1));
    await prepareNamespace(this.#namespace, true);
    await prepareNamespace(client, false);
    await run(inNamespace(this.#namespace, ['sysctl', '-qw', 'net.ipv4.conf.v0.rp_filter=0', 'net.ipv4.conf.v0.send_redirects=0']));
    await ip(['link del v0'], client);
    await ip([`link add v0 netns ${client} type veth peer name v1 netns ${this.#namespace}`]);
    await ip(['addr add 10.78.0.1/24 dev v1', 'addr add fd78::1/64 dev v1 nodad', 'link set v1 up'], this.#namespace);
    await ip(
      [
        `addr add ${remoteClient[4]}/24 dev v0`,
        `addr add ${remoteClient[6]}/64 dev v0 nodad`,
        'link set v0 up',
        'route add default via 10.78.0.1',
        'route add default via fd78::1',
      ],
      client,
    );
  }
}
