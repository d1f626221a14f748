import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { readAttributes, readText } from '../../system/netlink/attributes.ts';
import { NetlinkError } from '../../system/netlink/error.ts';
import type { Message } from '../../system/netlink/message.ts';
import { netfilterProtocol, openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../system/netlink/socket.ts';
import { families } from '../ruleset/layout.ts';
import type { Monitor } from '../nftables/executor.ts';
import { netfilterHeaderBytes } from '../nftables/netlink/batch.ts';
import { elementListAttributes, messages, protocolFamily, ruleAttributes } from '../nftables/netlink/constants.ts';
import { Conversation } from '../nftables/netlink/conversation.ts';
import { followEvents } from '../nftables/netlink/follow-events.ts';
import { entriesOf } from '../nftables/netlink/entries.ts';
import { limits } from './limits.ts';
import { maskedBit } from './masquerade-bit.ts';
import { frontendOfKey, kubeProxyMaps, kubeProxyTable, masqueradeChain } from './nftables-maps.ts';
import { SeenFrontends, type Part } from './seen-frontends.ts';

/** Messages after which the maps are read anew: those that make or remove a table or a set. */
const upheavals: ReadonlySet<number> = new Set([messages.newTable, messages.delTable, messages.newSet, messages.delSet]);
/** Every object of nf_tables carries the name of its table in this attribute, a table its own. */
const tableAttribute = 1;

/** Reads the maps of kube-proxy's nftables mode once by netlink, and from then on what the kernel says of their changes. */
export class NftablesReader {
  readonly #options: NetlinkOptions;
  readonly #clock: Clock;
  readonly #onChange: (frontends: ReadonlySet<string> | undefined) => void;
  readonly #seen = new SeenFrontends();
  #socket: NetlinkSocket | undefined;
  #conversation: Conversation | undefined;
  #monitor: Monitor | undefined;
  #cancel: Cancel | undefined;
  #families: ReadonlySet<Family> = new Set();
  #bits: ReadonlySet<number> = new Set();
  #why: string | undefined;
  /** What has happened since a read began; undefined: none is going on. */
  #waiting: Message[] | undefined;
  /** The transaction whose events come in makes or removes maps, or some were lost. */
  #upheaval = false;
  #reading: Promise<void> = Promise.resolve();

  constructor(clock: Clock, networkNamespace: string | undefined, onChange: (frontends: ReadonlySet<string> | undefined) => void) {
    this.#options = { protocol: netfilterProtocol, ...defined({ networkNamespace }) };
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** kube-proxy's tables are there, of one family at least. */
  get present(): boolean {
    return this.#families.size > 0;
  }

  /** Why it cannot be told whether they are. */
  get why(): string | undefined {
    return this.#why;
  }

  /** The bits of the packet mark by which kube-proxy asks for masquerade. */
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
      this.#why = String(error);
    }
    if (this.#socket === undefined) {
      this.#why ??= 'this machine has no netlink for Herald (koffi does not load)';
      return;
    }
    this.#conversation = new Conversation(this.#socket, this.#clock);
    this.#follow();
    await this.#read();
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    await this.#monitor?.stop();
    this.#monitor = undefined;
    await this.#reading;
    this.#socket?.close();
    this.#socket = undefined;
    this.#conversation = undefined;
    this.#families = new Set();
    this.#bits = new Set();
    this.#why = undefined;
    this.#seen.replace({ mapped: new Set(), without: new Set() });
    this.#seen.takeChanges();
  }

  #follow(): void {
    this.#monitor = followEvents(this.#options, this.#clock, {
      onMessage: (message) => this.#hear(message),
      onLoss: () => void this.#read(),
      onEnd: (why) => {
        this.#monitor = undefined;
        this.#why = why;
        this.#later(() => {
          this.#follow();
          void this.#read();
        });
      },
    });
  }

  #hear(message: Message): void {
    if (this.#waiting === undefined) this.#take(message);
    else if (this.#waiting.length < limits.waitingEvents) this.#waiting.push(message);
    else this.#upheaval = true;
  }

  /** A transaction's events are acted upon together, when the new generation ends it: kube-proxy replaces elements by deleting them first. */
  #take(message: Message): void {
    if (message.type === messages.newGeneration) {
      if (this.#upheaval) void this.#read();
      else this.#tell(this.#seen.takeChanges());
      return;
    }
    const isElement = message.type === messages.newElement || message.type === messages.delElement;
    if (!isElement && !upheavals.has(message.type)) return;
    const family = families.find((each) => message.payload[0] === protocolFamily[each === 4 ? 'ip' : 'ip6']);
    if (family === undefined) return;
    const attributes = message.payload.subarray(netfilterHeaderBytes);
    const byType = readAttributes(attributes);
    if (textIn(byType, tableAttribute) !== kubeProxyTable) return;
    if (!isElement) {
      this.#upheaval = true;
      return;
    }
    const part = kubeProxyMaps[textIn(byType, elementListAttributes.set)];
    if (part === undefined) return;
    for (const { key } of entriesOf(attributes)) {
      const frontend = frontendOfKey(family, Buffer.from(key, 'latin1'));
      if (frontend === undefined) continue;
      if (message.type === messages.newElement) this.#seen.add(part, frontend);
      else this.#seen.delete(part, frontend);
    }
  }

  #read(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readOnce());
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const conversation = this.#conversation;
    if (conversation === undefined || this.#monitor === undefined) return;
    this.#waiting = [];
    this.#upheaval = false;
    const before = { present: this.present, why: this.#why };
    const parts: Readonly<Record<Part, Set<string>>> = { mapped: new Set(), without: new Set() };
    try {
      const present = new Set<Family>();
      const bits = new Set<number>();
      for (const family of families) {
        if (!(await readFamily(conversation, family, parts))) continue;
        present.add(family);
        const bit = await masqueradeBit(conversation, family);
        if (bit !== undefined) bits.add(bit);
      }
      this.#families = present;
      this.#bits = bits;
      this.#why = undefined;
      this.#seen.replace(parts);
    } catch (error) {
      // What was seen last is the best that is known.
      this.#why = String(error);
      this.#later(() => void this.#read());
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const message of waiting) this.#take(message);
    const changes = this.#seen.takeChanges();
    this.#tell(before.present === this.present && before.why === this.#why ? changes : undefined);
  }

  #later(work: () => void): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(limits.retryMilliseconds, work);
  }

  #tell(changes: ReadonlySet<string> | undefined): void {
    if (changes === undefined || changes.size > 0) this.#onChange(changes);
  }
}

/** Adds what the maps of one family hold. False: kube-proxy has none. */
async function readFamily(conversation: Conversation, family: Family, parts: Readonly<Record<Part, Set<string>>>): Promise<boolean> {
  let present = false;
  for (const [map, part] of Object.entries(kubeProxyMaps)) {
    const payloads = await elementsOf(conversation, family, map);
    if (payloads === undefined) continue;
    present = true;
    for (const payload of payloads) {
      for (const { key } of entriesOf(payload)) {
        const frontend = frontendOfKey(family, Buffer.from(key, 'latin1'));
        if (frontend !== undefined && parts[part].size < limits.frontends) parts[part].add(frontend);
      }
    }
  }
  return present;
}

/** The first rule of the chain is the one that looks at the mark. */
async function masqueradeBit(conversation: Conversation, family: Family): Promise<number | undefined> {
  const rules = await conversation.list({
    type: messages.getRule,
    family,
    attributes: [
      [ruleAttributes.table, kubeProxyTable],
      [ruleAttributes.chain, masqueradeChain],
    ],
  });
  return rules[0] === undefined ? undefined : maskedBit(rules[0]);
}

/** Undefined: there is no such map. */
async function elementsOf(conversation: Conversation, family: Family, map: string): Promise<Uint8Array[] | undefined> {
  try {
    return await conversation.list({
      type: messages.getElement,
      family,
      attributes: [
        [elementListAttributes.table, kubeProxyTable],
        [elementListAttributes.set, map],
      ],
    });
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function textIn(attributes: ReadonlyMap<number, Uint8Array>, type: number): string {
  const value = attributes.get(type);
  return value === undefined ? '' : readText(value);
}
