import { localOpenMessage } from '../../../../src/bgp/negotiation/local-open.ts';
import type { Community } from '../../../../src/bgp/index.ts';
import { MemoryTransport, type RemoteEnd } from '../../../../src/bgp/transport/memory-transport.ts';
import type { Connection, ConnectionEvents, DialOptions } from '../../../../src/bgp/transport/transport.ts';
import { messageType } from '../../../../src/bgp/wire/codes.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { readPaths } from '../../../../src/bgp/wire/nlri.ts';
import { decodeNotification, describeNotification } from '../../../../src/bgp/wire/notification.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { decodeUpdate } from '../../../../src/bgp/wire/update.ts';
import { address, formatAddress, type Address, type Family } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import type { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { messages } from '../../../../src/bgp/test/hex.ts';

/** Routers (AS 64513) at every address that the agent dials. They complete the handshake and keep the routes that they receive. */
export class Routers {
  readonly transport: Dialer;
  /** Received notifications in words, with the address of the router. */
  readonly notifications: string[] = [];
  /** The number of routes of the family at each End-of-RIB (RFC 4724 2). */
  readonly endsOfRib: string[] = [];
  /** What the routers offer from now on. */
  families: readonly Family[] = [4, 6];
  gracefulRestart = false;
  readonly #clock: VirtualClock;
  readonly #sessions = new Map<RemoteEnd, Map<string, string>>();
  #known = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.transport = new Dialer(clock);
  }

  /** Delivers all data in transit, in both directions. */
  exchange(): void {
    for (let i = 0; i < 6; i++) {
      this.#clock.advance(0);
      for (const remote of this.transport.remotes.slice(this.#known)) this.#sessions.set(remote, new Map());
      this.#known = this.transport.remotes.length;
      for (const [remote, table] of this.#sessions) {
        this.#read(remote, table);
        if (!remote.closed && !remote.ended) continue;
        this.#sessions.delete(remote);
        if (!remote.closed) remote.close();
      }
    }
  }

  /** Attributes in one line by prefix, such as "192.0.2.1/32". Undefined: there is no session. */
  table(router: string): ReadonlyMap<string, string> | undefined {
    const at = formatAddress(address(router));
    return [...this.#sessions].findLast(([{ options }]) => formatAddress(options.address) === at)?.[1];
  }

  get sessions(): readonly RemoteEnd[] {
    return [...this.#sessions.keys()];
  }

  #read(remote: RemoteEnd, table: Map<string, string>): void {
    for (const { type, body } of messages(remote.take())) {
      if (type === messageType.open) this.#greet(remote);
      if (type === messageType.keepalive && !remote.closed) remote.send(keepaliveMessage);
      if (type === messageType.notification) {
        this.notifications.push(`${formatAddress(remote.options.address)} ${describeNotification(decodeNotification(body))}`);
      }
      if (type === messageType.update) this.#update(body, table);
    }
  }

  /** Hold time 0: there are no keepalive timers. */
  #greet(remote: RemoteEnd): void {
    const overIpv6 = remote.options.address.family === 6;
    const helper = { restartTime: 120, restarted: false, forwardingPreserved: false };
    const offer = { localAsn: 64513, peerAsn: 64512, routerId: 7, holdTime: 0, families: this.families, overIpv6 };
    remote.send(encodeOpen(localOpenMessage({ ...offer, ...(this.gracefulRestart ? { gracefulRestart: helper } : {}) })));
  }

  #update(body: Uint8Array, table: Map<string, string>): void {
    const update = decodeUpdate(body, { families: [4, 6], fourOctetAsn: true, internal: false });
    if (!update.ok) throw new Error(update.fault.problem);
    const { withdrawn, announced, attributes, endOfRib } = update.value;
    if (endOfRib !== undefined) {
      const routes = [...table.keys()].filter((prefix) => prefix.includes(':') === (endOfRib === 6));
      this.endsOfRib.push(`IPv${endOfRib} after ${routes.length}`);
    }
    for (const nlri of withdrawn) for (const { prefix } of readPaths(nlri)) table.delete(formatPrefix(prefix));
    const text = attributesText(attributes.communities ?? [], attributes.med, attributes.asPath?.flatMap(({ asns }) => asns).length ?? 0);
    for (const nlri of announced) for (const { prefix } of readPaths(nlri)) table.set(formatPrefix(prefix), text);
  }
}

/** `pathLength` includes our own AS number. */
export function attributesText(communities: readonly Community[], med: number | undefined, pathLength: number): string {
  return JSON.stringify({ communities, med, pathLength });
}

/** Connects from an address of the right family. */
class Dialer extends MemoryTransport {
  override dial(options: DialOptions, events: ConnectionEvents): Connection {
    const local: Address = address(options.address.family === 4 ? '10.0.0.1' : 'fd00::1');
    return super.dial(options, {
      connected: () => events.connected(local),
      data: (bytes) => events.data(bytes),
      drain: () => events.drain(),
      closed: (failure) => events.closed(failure),
    });
  }
}
