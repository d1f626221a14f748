import { bmpLength, decodeBmpMessage, type BmpMessage, type BmpPeer } from '../../../../../src/bgp/wire/bmp/bmp-message.ts';
import type { MemoryHost } from '../../../../../src/bgp/transport/memory-network.ts';
import type { Connection } from '../../../../../src/bgp/transport/transport.ts';
import { decodeMessage, readPaths } from '../../../../../src/bgp/wire/index.ts';
import { formatPrefix } from '../../../../../src/net/prefix.ts';

/** A BMP collector in memory: it decodes all that it gets, and keeps the routes of each view. */
export class MemoryCollector {
  readonly messages: BmpMessage[] = [];
  connections = 0;
  closed = 0;
  #connection: Connection | undefined;
  #octets: Uint8Array = new Uint8Array(0);

  constructor(host: MemoryHost, port: number) {
    host.listen(
      { port },
      {
        listening: () => {},
        failed: () => {},
        connection: (incoming) => {
          this.connections++;
          this.#octets = new Uint8Array(0);
          this.#connection = incoming.accept(
            { ttl: 255 },
            { connected: () => {}, drain: () => {}, data: (bytes) => this.#receive(bytes), closed: () => void this.closed++ },
          );
        },
      },
    );
  }

  /** The kinds of the messages, neighbours of one kind once. */
  get kinds(): string[] {
    return this.messages.map(({ kind }) => kind).filter((kind, index, all) => kind !== all[index - 1]);
  }

  of<K extends BmpMessage['kind']>(kind: K): Extract<BmpMessage, { kind: K }>[] {
    return this.messages.filter((message): message is Extract<BmpMessage, { kind: K }> => message.kind === kind);
  }

  /** The routes of a view at the end of all messages, with their next hop and local preference. End-of-RIB is "end". */
  routes(view: (peer: BmpPeer) => boolean): string[] {
    const routes = new Map<string, string>();
    for (const { peer, update } of this.of('routeMonitoring')) {
      if (!view(peer)) continue;
      const decoded = decodeMessage(update, { maximum: 65_535, internal: true, fourOctetAsn: !peer.twoOctetAsPath });
      if (!decoded.ok || decoded.value.kind !== 'update') throw new Error('no UPDATE');
      const { withdrawn, announced, attributes, endOfRib } = decoded.value;
      if (endOfRib !== undefined) routes.set('end', 'end');
      for (const nlri of withdrawn) for (const { prefix } of readPaths(nlri)) routes.delete(formatPrefix(prefix));
      for (const nlri of announced) {
        for (const { prefix } of readPaths(nlri)) {
          routes.set(formatPrefix(prefix), `${formatPrefix(prefix)} by ${attributes.asPath?.flatMap(({ asns }) => asns).join(' ')}`);
        }
      }
    }
    return [...routes.values()].sort();
  }

  close(): void {
    this.#connection?.destroy();
  }

  #receive(bytes: Uint8Array): void {
    this.#octets = Buffer.concat([this.#octets, bytes]);
    for (let length = bmpLength(this.#octets); length !== undefined && length <= this.#octets.length; length = bmpLength(this.#octets)) {
      const message = decodeBmpMessage(this.#octets.subarray(0, length));
      if (message === undefined) throw new Error('no BMP message');
      this.messages.push(message);
      this.#octets = this.#octets.slice(length);
    }
  }
}

export const preIn = ({ postPolicy, adjRibOut }: BmpPeer): boolean => !postPolicy && !adjRibOut;
export const postIn = ({ postPolicy, adjRibOut }: BmpPeer): boolean => postPolicy && !adjRibOut;
export const out = ({ adjRibOut }: BmpPeer): boolean => adjRibOut;
