import { NetlinkError } from '../../src/system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../src/system/netlink/socket.ts';

/**
 * Reads our tables from the kernel octet by octet. The code knows nothing of the meaning of sets, keys and values, so a mistake in Herald's
 * reading cannot hide a difference. Returns sorted lines of "ip set NAME KEY : VALUE", in hexadecimal.
 */
export class KernelReading {
  readonly #socket: NetlinkSocket;
  #sequence = 1;

  constructor(namespace: string) {
    const socket = openNetlink({ protocol: netfilterProtocol, networkNamespace: `/run/netns/${namespace}` });
    if (socket === undefined) throw new Error('netlink is not available here');
    this.#socket = socket;
  }

  /** `revisions` is the size of the revision set. The numbers in it differ between two tables that are otherwise equal. */
  async read(): Promise<{ readonly lines: readonly string[]; readonly revisions: number }> {
    const lines: string[] = [];
    let revisions = 0;
    for (const [name, family] of families) {
      for (const chain of await this.#dump(getChain, family)) {
        const attributes = attributesOf(chain);
        if (text(attributes.get(chainTable)) !== table) continue;
        lines.push(`${name} chain ${text(attributes.get(chainName))} ${hex(attributes.get(chainHook))}`);
      }
      const positions = new Map<string, number>();
      for (const rule of await this.#dump(getRule, family)) {
        const attributes = attributesOf(rule);
        if (text(attributes.get(ruleTable)) !== table) continue;
        const chain = text(attributes.get(ruleChain));
        const position = (positions.get(chain) ?? 0) + 1;
        positions.set(chain, position);
        lines.push(`${name} rule ${chain} ${position} ${hex(attributes.get(ruleExpressions))}`);
      }
      for (const listed of await this.#dump(getSet, family)) {
        const set = text(attributesOf(listed).get(setName));
        if (text(attributesOf(listed).get(setTable)) !== table) continue;
        // The nft command also marks an end before the first range, which has no meaning.
        const elements = (await this.#elements(family, set)).filter((element) => !/^[0-9a-f]{8}0+ flags 00000001$/.test(element));
        if (set === 'revision') revisions += elements.length;
        else lines.push(`${name} set ${set}`, ...elements.map((element) => `${name} element ${set} ${element}`));
      }
    }
    return { lines: lines.toSorted(), revisions };
  }

  close(): void {
    this.#socket.close();
  }

  async #elements(family: number, set: string): Promise<string[]> {
    const messages = await this.#dump(getElement, family, [...textAttribute(1, table), ...textAttribute(2, set)]);
    return messages.flatMap((message) => {
      const list = attributesOf(message).get(elementList);
      return list === undefined ? [] : split(list).map(([, element]) => elementText(attributesOf(element)));
    });
  }

  /** Returns the attributes of each object of a list, after struct nfgenmsg. */
  async #dump(type: number, family: number, attributes: readonly number[] = []): Promise<Uint8Array[]> {
    for (let attempt = 1; attempt <= 20; attempt++) {
      const objects = await this.#dumpOnce(type, family, attributes);
      if (objects !== undefined) return objects;
    }
    throw new Error('the list keeps changing');
  }

  async #dumpOnce(type: number, family: number, attributes: readonly number[]): Promise<Uint8Array[] | undefined> {
    const sequence = this.#sequence++;
    const request = Buffer.alloc(20 + attributes.length);
    request.writeUInt32LE(request.length, 0);
    request.writeUInt16LE((subsystem << 8) | type, 4);
    request.writeUInt16LE(requestToDump, 6);
    request.writeUInt32LE(sequence, 8);
    request.writeUInt8(family, 16);
    request.set(attributes, 20);
    await this.#socket.send(request);
    const objects: Uint8Array[] = [];
    let interrupted = false;
    for (let datagram = this.#socket.receive(); datagram !== undefined; datagram = this.#socket.receive()) {
      const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.length);
      for (let at = 0; at < datagram.length;) {
        const length = view.getUint32(at, true);
        const kind = view.getUint16(at + 4, true);
        if (view.getUint32(at + 8, true) !== sequence) throw new Error('a reply to another process');
        if (kind === error) throw new NetlinkError('reading the kernel', -view.getInt32(at + 16, true));
        interrupted ||= (view.getUint16(at + 6, true) & dumpInterrupted) !== 0;
        if (kind === done) return interrupted ? undefined : objects;
        objects.push(datagram.subarray(at + 20, at + length));
        at += (length + 3) & ~3;
      }
    }
    throw new Error('the list has no end');
  }
}

// Constants of linux/netlink.h and linux/netfilter/nf_tables.h.
const [error, done] = [2, 3];
const requestToDump = 0x301;
const dumpInterrupted = 0x10;
const subsystem = 10;
const [getChain, getRule, getSet, getElement] = [4, 7, 10, 13];
const [chainTable, chainName, chainHook] = [1, 3, 4];
const [ruleTable, ruleChain, ruleExpressions] = [1, 2, 4];
const [setTable, setName] = [1, 2];
const elementList = 3;
const [elementKey, elementData, elementFlags, elementKeyEnd] = [1, 2, 3, 10];
const table = 'herald';
const families = [
  ['ip', 2],
  ['ip6', 10],
] as const;

function elementText(attributes: ReadonlyMap<number, Uint8Array>): string {
  const part = (name: string, type: number): string => (attributes.has(type) ? ` ${name} ${hex(attributes.get(type))}` : '');
  return `${hex(attributes.get(elementKey))}${part('to', elementKeyEnd)}${part('flags', elementFlags)}${part(':', elementData)}`;
}

function split(octets: Uint8Array): [number, Uint8Array][] {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  const attributes: [number, Uint8Array][] = [];
  for (let at = 0; at + 4 <= octets.length;) {
    const length = view.getUint16(at, true);
    attributes.push([view.getUint16(at + 2, true) & 0x3fff, octets.subarray(at + 4, at + length)]);
    at += (length + 3) & ~3;
  }
  return attributes;
}

const attributesOf = (octets: Uint8Array): ReadonlyMap<number, Uint8Array> => new Map(split(octets));
const hex = (octets: Uint8Array | undefined): string => (octets === undefined ? '' : Buffer.from(octets).toString('hex'));
const text = (octets: Uint8Array | undefined): string =>
  octets === undefined ? '' : Buffer.from(octets).toString('latin1').replace(/\0$/, '');

function textAttribute(type: number, value: string): number[] {
  const attribute = Buffer.alloc((4 + value.length + 1 + 3) & ~3);
  attribute.writeUInt16LE(4 + value.length + 1, 0);
  attribute.writeUInt16LE(type, 2);
  attribute.write(value, 4, 'latin1');
  return [...attribute];
}
