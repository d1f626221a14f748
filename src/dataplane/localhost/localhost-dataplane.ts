import { formatAddress, parseAddress } from '../../net/address.ts';
import type { NodeForwarding, ServiceForwarding } from '../../net/frontend.ts';
import { prefixContains, type Prefix } from '../../net/prefix.ts';
import type { ApplyResult, Dataplane, ForwardingChanges } from '../dataplane.ts';
import { DataplaneLayer } from '../dataplane-layer.ts';
import { LocalhostNodePorts, type LocalhostComponents, type LocalhostPort, type UnservedPort } from './node-ports.ts';

/**
 * A data plane that also answers TCP NodePorts on 127.0.0.1 and ::1, if the node asks for it (KEP-6032). Packets from a loopback address
 * cannot leave the host, so rules cannot do this. Instead, the agent listens on a socket and proxies each connection to the NodePort on an
 * address of the node, where the rules choose the backend as usual.
 */
export class LocalhostDataplane extends DataplaneLayer {
  readonly #ports: LocalhostNodePorts;
  /** TCP NodePorts by Service, whether they are served or not. */
  readonly #services = new Map<string, readonly LocalhostPort[]>();
  /** The number of Services that have the port. */
  readonly #users = new Map<string, { readonly of: LocalhostPort; count: number }>();
  #addresses: readonly Prefix[] = [];
  #serves = false;

  /** `own` returns the addresses of this host, as text. */
  constructor(inner: Dataplane, components: LocalhostComponents, own: () => readonly string[]) {
    super(inner);
    this.#ports = new LocalhostNodePorts(components, ({ family, port }) => {
      const addresses = own().flatMap((text) => {
        const address = parseAddress(text);
        return address.ok && address.value.family === family ? [address.value] : [];
      });
      const found = addresses.find((address) => this.#addresses.some((prefix) => prefixContains(prefix, address)));
      return found === undefined ? undefined : { address: formatAddress(found), port };
    });
  }

  unserved(): UnservedPort[] {
    return this.#ports.unserved();
  }

  override async replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    const result = await super.replace(node, services);
    const gone = [...this.#services.keys()].filter((service) => !services.has(service));
    this.#follow(new Map<string, ServiceForwarding | undefined>([...gone.map((service) => [service, undefined] as const), ...services]));
    this.#followNode(node);
    return result;
  }

  override async setNode(node: NodeForwarding): Promise<ApplyResult> {
    const result = await super.setNode(node);
    this.#followNode(node);
    return result;
  }

  override async apply(changes: ForwardingChanges): Promise<ApplyResult> {
    const result = await super.apply(changes);
    this.#follow(changes);
    return result;
  }

  override async clear(): Promise<void> {
    this.#follow(new Map([...this.#services.keys()].map((service) => [service, undefined])));
    await super.clear();
  }

  override async close(): Promise<void> {
    await Promise.all([this.#ports.stop(), super.close()]);
  }

  override async cleanup(): Promise<void> {
    await Promise.all([this.#ports.stop(), super.cleanup()]);
  }

  #followNode({ nodePortAddresses, localhostNodePorts = false }: NodeForwarding): void {
    this.#addresses = nodePortAddresses;
    if (localhostNodePorts === this.#serves) return;
    this.#serves = localhostNodePorts;
    for (const { of } of this.#users.values()) this.#openOrClose(of, localhostNodePorts);
  }

  #follow(changes: ForwardingChanges): void {
    for (const [service, forwarding] of changes) {
      const before = this.#services.get(service) ?? [];
      const after = (forwarding?.frontends ?? []).flatMap(({ match }) =>
        match.kind === 'nodePort' && match.protocol === 'TCP' ? [{ family: match.family, port: match.port }] : [],
      );
      // The new ports first, so that a port that stays is not closed in between.
      for (const of of after) this.#use(of, 1);
      for (const of of before) this.#use(of, -1);
      if (after.length === 0) this.#services.delete(service);
      else this.#services.set(service, after);
    }
  }

  #use(of: LocalhostPort, more: 1 | -1): void {
    const key = `${of.family} ${of.port}`;
    const user = this.#users.get(key) ?? { of, count: 0 };
    user.count += more;
    if (user.count > 0) this.#users.set(key, user);
    else this.#users.delete(key);
    if (this.#serves) this.#openOrClose(of, user.count > 0);
  }

  #openOrClose(of: LocalhostPort, open: boolean): void {
    if (open) this.#ports.open(of);
    else this.#ports.close(of);
  }
}
