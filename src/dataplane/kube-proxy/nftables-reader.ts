import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { NetlinkError } from '../../system/netlink/error.ts';
import { followEvents, type Events } from '../../system/netlink/events.ts';
import type { Message } from '../../system/netlink/message.ts';
import { netfilterProtocol, openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../system/netlink/socket.ts';
import { families } from '../ruleset/layout.ts';
import {
  changesGroup,
  elementListAttributes,
  messages,
  ruleAttributes,
  protocolFamily,
  tableAttribute,
  dataAttributes,
  expressionAttributes,
} from '../nftables/netlink/constants.ts';
import { NfTablesConnection } from '../nftables/netlink/nf-tables-connection.ts';
import { parseSetElements, attributeText } from '../nftables/netlink/elements/entries.ts';
import { limits } from './limits.ts';
import { frontendOfKey, kubeProxyMaps, kubeProxyTable, masqueradeChain } from './nftables-maps.ts';
import { SeenFrontends, type MapKind } from './seen-frontends.ts';
import { readAttributes, listAttributes, readText } from '../../system/netlink/attributes.ts';
import { netfilterHeaderBytes } from '../nftables/netlink/batch.ts';

/** Reads the maps of kube-proxy's nftables mode once by netlink, and then follows the kernel's events for them. */
export class NftablesReader {
  readonly #options: NetlinkOptions;
  readonly #clock: Clock;
  readonly #onChange: (frontends: ReadonlySet<string> | undefined) => void;
  readonly #seen = new SeenFrontends();
  #socket: NetlinkSocket | undefined;
  #connection: NfTablesConnection | undefined;
  #monitor: Events | undefined;
  #cancel: Cancel | undefined;
  #families: ReadonlySet<Family> = new Set();
  #bits: ReadonlySet<number> = new Set();
  #unavailableBecause: string | undefined;
  /** Messages received since a read began. Undefined: no read is running. */
  #deferredMessages: Message[] | undefined;
  /** The current transaction creates or removes maps, or events were lost, so the maps must be read again. */
  #rereadNeeded = false;
  #reading: Promise<void> = Promise.resolve();

  constructor(clock: Clock, networkNamespace: string | undefined, onChange: (frontends: ReadonlySet<string> | undefined) => void) {
    this.#options = { protocol: netfilterProtocol, ...defined({ networkNamespace }) };
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** True if kube-proxy's tables exist, for one family at least. */
  get present(): boolean {
    return this.#families.size > 0;
  }

  /** Why it is unknown whether the tables exist. */
  get unavailableBecause(): string | undefined {
    return this.#unavailableBecause;
  }

  /** The bits of the packet mark by which kube-proxy requests masquerade. */
  get masqueradeBits(): readonly number[] {
    return [...this.#bits];
  }

  has(frontend: string): boolean {
    return this.#seen.has(frontend);
  }

  async start(): Promise<void> {
    if (this.#socket !== undefined) return;
    try {
      this.#socket = openNetlink(this.#options);
    } catch (error) {
      this.#unavailableBecause = String(error);
    }
    if (this.#socket === undefined) {
      this.#unavailableBecause ??= 'this machine has no netlink for Herald (koffi does not load)';
      return;
    }
    this.#connection = new NfTablesConnection(this.#socket, this.#clock);
    this.#follow();
    await this.#read();
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    this.#monitor?.stop();
    this.#monitor = undefined;
    await this.#reading;
    this.#socket?.close();
    this.#socket = undefined;
    this.#connection = undefined;
    this.#families = new Set();
    this.#bits = new Set();
    this.#unavailableBecause = undefined;
    this.#seen.replaceFrontends({ mapped: new Set(), without: new Set() });
    this.#seen.takeChanges();
  }

  #follow(): void {
    this.#monitor = followEvents({ ...this.#options, groups: [changesGroup] }, this.#clock, {
      onMessage: (message) => this.#onMessage(message),
      onLoss: () => void this.#read(),
      onEnd: (why) => {
        this.#monitor = undefined;
        this.#unavailableBecause = why;
        this.#retryLater(() => {
          this.#follow();
          void this.#read();
        });
      },
    });
  }

  #onMessage(message: Message): void {
    if (this.#deferredMessages === undefined) this.#applyMessage(message);
    else if (this.#deferredMessages.length < limits.waitingEvents) this.#deferredMessages.push(message);
    else this.#rereadNeeded = true;
  }

  /**
   * Applies a message. Listeners are notified only at the end of a transaction, at the new generation: kube-proxy replaces an element by
   * deleting it first.
   */
  #applyMessage(message: Message): void {
    if (message.type === messages.newGeneration) {
      if (this.#rereadNeeded) void this.#read();
      else this.#notify(this.#seen.takeChanges());
      return;
    }
    const event = readMapEvent(message);
    if (event === undefined) return;
    if (event.kind === 'structure') this.#rereadNeeded = true;
    else if (event.kind === 'added') for (const frontend of event.frontends) this.#seen.addFrontend(event.part, frontend);
    else for (const frontend of event.frontends) this.#seen.removeFrontend(event.part, frontend);
  }

  #read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readOnce());
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || this.#monitor === undefined) return;
    this.#deferredMessages = [];
    this.#rereadNeeded = false;
    const before = { present: this.present, why: this.#unavailableBecause };
    const parts: Readonly<Record<MapKind, Set<string>>> = { mapped: new Set(), without: new Set() };
    try {
      const present = new Set<Family>();
      const bits = new Set<number>();
      for (const family of families) {
        if (!(await readFamily(connection, family, parts))) continue;
        present.add(family);
        const bit = await readMasqueradeBit(connection, family);
        if (bit !== undefined) bits.add(bit);
      }
      this.#families = present;
      this.#bits = bits;
      this.#unavailableBecause = undefined;
      this.#seen.replaceFrontends(parts);
    } catch (error) {
      // Keeps the state of the last successful read.
      this.#unavailableBecause = String(error);
      this.#retryLater(() => void this.#read());
    }
    const waiting = this.#deferredMessages;
    this.#deferredMessages = undefined;
    for (const message of waiting) this.#applyMessage(message);
    const changes = this.#seen.takeChanges();
    this.#notify(before.present === this.present && before.why === this.#unavailableBecause ? changes : undefined);
  }

  #retryLater(work: () => void): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(limits.retryMilliseconds, work);
  }

  #notify(changes: ReadonlySet<string> | undefined): void {
    if (changes === undefined || changes.size > 0) this.#onChange(changes);
  }
}

/** Adds the frontends in the maps of one family. Returns false if kube-proxy has no maps there. */
async function readFamily(connection: NfTablesConnection, family: Family, parts: Readonly<Record<MapKind, Set<string>>>): Promise<boolean> {
  let present = false;
  for (const [map, part] of Object.entries(kubeProxyMaps)) {
    const payloads = await listMapElements(connection, family, map);
    if (payloads === undefined) continue;
    present = true;
    for (const payload of payloads) {
      for (const { key } of parseSetElements(payload)) {
        const frontend = frontendOfKey(family, Buffer.from(key, 'latin1'));
        if (frontend !== undefined && parts[part].size < limits.frontends) parts[part].add(frontend);
      }
    }
  }
  return present;
}

/** Reads the bit from the first rule of the chain, which matches the mark. */
async function readMasqueradeBit(connection: NfTablesConnection, family: Family): Promise<number | undefined> {
  const rules = await connection.list(messages.getRule, family, [
    [ruleAttributes.table, kubeProxyTable],
    [ruleAttributes.chain, masqueradeChain],
  ]);
  return rules[0] === undefined ? undefined : maskedBit(rules[0]);
}

/** Undefined: the map does not exist. */
async function listMapElements(connection: NfTablesConnection, family: Family, map: string): Promise<Uint8Array[] | undefined> {
  try {
    return await connection.list(messages.getElement, family, [
      [elementListAttributes.table, kubeProxyTable],
      [elementListAttributes.set, map],
    ]);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A change of kube-proxy's maps. structure: a table or a set was created or removed, so the maps must be read again. */
export type MapEvent =
  | { readonly kind: 'structure' }
  | { readonly kind: 'added' | 'removed'; readonly part: MapKind; readonly frontends: readonly string[] };

const structuralMessages: ReadonlySet<number> = new Set([messages.newTable, messages.delTable, messages.newSet, messages.delSet]);

/** Returns undefined for messages about anything else than kube-proxy's maps. */
export function readMapEvent(message: Message): MapEvent | undefined {
  const isElement = message.type === messages.newElement || message.type === messages.delElement;
  if (!isElement && !structuralMessages.has(message.type)) return undefined;
  const family = families.find((each) => message.payload[0] === protocolFamily[each === 4 ? 'ip' : 'ip6']);
  if (family === undefined) return undefined;
  const attributes = message.payload.subarray(netfilterHeaderBytes);
  const byType = readAttributes(attributes);
  if (attributeText(byType, tableAttribute) !== kubeProxyTable) return undefined;
  if (!isElement) return { kind: 'structure' };
  const part = kubeProxyMaps[attributeText(byType, elementListAttributes.set)];
  if (part === undefined) return undefined;
  const frontends = parseSetElements(attributes).flatMap(({ key }) => frontendOfKey(family, Buffer.from(key, 'latin1')) ?? []);
  return { kind: message.type === messages.newElement ? 'added' : 'removed', part, frontends };
}

const bitwiseMask = 4;

/**
 * Returns the bit of the packet mark that a rule matches ("mark and 0x4000 != 0"), from the rule's attributes as the kernel lists them: the
 * mask of the first bitwise operation, if it is one bit of 32.
 */
function maskedBit(attributes: Uint8Array): number | undefined {
  const expressions = readAttributes(attributes).get(ruleAttributes.expressions);
  for (const { value } of expressions === undefined ? [] : listAttributes(expressions)) {
    const expression = readAttributes(value);
    const [name, data] = [expression.get(expressionAttributes.name), expression.get(expressionAttributes.data)];
    if (name === undefined || data === undefined || readText(name) !== 'bitwise') continue;
    const nested = readAttributes(data).get(bitwiseMask);
    const mask = nested === undefined ? undefined : readAttributes(nested).get(dataAttributes.value);
    if (mask?.length !== 4) continue;
    // Marks are in the machine's byte order.
    const bit = Math.log2(new DataView(mask.buffer, mask.byteOffset).getUint32(0, true));
    if (Number.isInteger(bit)) return bit;
  }
  return undefined;
}
