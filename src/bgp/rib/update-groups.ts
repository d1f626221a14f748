import type { Family } from '../../net/address.ts';
import type { AttributeSet } from './attribute-set.ts';
import type { Bucket, FamilyAdjRibOut } from './family-rib.ts';
import { maximumSharedUpdates } from '../limits.ts';
import type { UpdateFormat } from './update-format.ts';
import { packAnnouncements, packWithdrawals, type EncodedAttributes, type PackedUpdate } from './pack-updates.ts';
import { encodeAttributes } from './route-attributes.ts';
import { noSlot } from './prefix-table.ts';

interface SharedUpdate extends PackedUpdate {
  /** Undefined for a withdrawal. */
  readonly set: AttributeSet | undefined;
  readonly slots: Int32Array;
  /** Generation of the prefix table at the time of packing. */
  readonly generation: number;
  /** No further prefix would have fitted. */
  readonly full: boolean;
  /** Members that have not sent it yet. */
  pendingMembers: number;
}

/**
 * Sessions that get identical UPDATEs for the same routes. Attributes are encoded once for the group. An UPDATE that one member packed is
 * reused for the others if they wait for the same prefixes in the same order, which is so when all got the same routes.
 */
export class UpdateGroup {
  readonly key: string;
  members = 0;
  readonly #format: UpdateFormat;
  readonly #announcements: Record<Family, WeakMap<AttributeSet, EncodedAttributes>> = { 4: new WeakMap(), 6: new WeakMap() };
  /** By the first slot of the UPDATE. */
  readonly #shared: Record<Family, Map<number, SharedUpdate>> = { 4: new Map(), 6: new Map() };

  constructor(key: string, format: UpdateFormat) {
    this.key = key;
    this.#format = format;
  }

  /** Number of UPDATEs kept for other members. */
  get kept(): number {
    return this.#shared[4].size + this.#shared[6].size;
  }

  /** Drops the packed UPDATEs: a single member has no other member to share them with. */
  clearCache(): void {
    for (const family of [4, 6] as const) this.#shared[family].clear();
  }

  withdraw(rib: FamilyAdjRibOut): PackedUpdate {
    return this.#shareable(rib, rib.withdrawals, undefined, () => packWithdrawals(rib, rib.withdrawals, this.#format.maximumLength));
  }

  announce(rib: FamilyAdjRibOut, bucket: Bucket, set: AttributeSet): PackedUpdate {
    return this.#shareable(rib, bucket, set, () =>
      packAnnouncements(rib, bucket, this.#announcement(rib.table.family, set), this.#format.maximumLength),
    );
  }

  #announcement(family: Family, set: AttributeSet): EncodedAttributes {
    let announcement = this.#announcements[family].get(set);
    if (announcement === undefined) {
      const encoding = this.#format.nextHops[family];
      const nextHop = encoding.kind === 'impossible' ? undefined : encoding.nextHop;
      const classic = encoding.kind === 'classic';
      announcement = {
        attributes: encodeAttributes(set, this.#format, classic ? nextHop : undefined),
        multiprotocolNextHop: classic ? undefined : nextHop,
      };
      this.#announcements[family].set(set, announcement);
    }
    return announcement;
  }

  #shareable(rib: FamilyAdjRibOut, bucket: Bucket, set: AttributeSet | undefined, pack: () => PackedUpdate): PackedUpdate {
    if (this.members < 2) return pack();
    const shared = this.#shared[rib.table.family];
    const found = shared.get(bucket.first);
    if (found !== undefined && found.set === set && isFor(found, rib, bucket)) {
      if (--found.pendingMembers === 0) shared.delete(bucket.first);
      return found;
    }
    const packed = pack();
    shared.delete(bucket.first);
    const [oldest] = shared.keys();
    if (oldest !== undefined && shared.size >= maximumSharedUpdates) shared.delete(oldest);
    const full = packed.count < bucket.size;
    const { generation } = rib.table;
    shared.set(bucket.first, {
      ...packed,
      set,
      slots: slotsOf(rib, bucket, packed.count),
      generation,
      full,
      pendingMembers: this.members - 1,
    });
    return packed;
  }
}

/** Groups the sessions by update format. */
export class UpdateGroups {
  readonly #byKey = new Map<string, UpdateGroup>();

  get size(): number {
    return this.#byKey.size;
  }

  /** Number of UPDATEs kept for members that have not sent them yet. */
  get kept(): number {
    return this.#byKey.values().reduce((sum, group) => sum + group.kept, 0);
  }

  acquire(format: UpdateFormat): UpdateGroup {
    const key = keyOf(format);
    const group = this.#byKey.get(key) ?? new UpdateGroup(key, format);
    this.#byKey.set(key, group);
    group.members++;
    return group;
  }

  release(group: UpdateGroup): void {
    group.members--;
    if (group.members === 0) this.#byKey.delete(group.key);
    if (group.members === 1) group.clearCache();
  }
}

function keyOf({ internal, localAsn, fourOctetAsn, maximumLength, nextHops }: UpdateFormat): string {
  const families = ([4, 6] as const).map((family) => {
    const { kind, ...rest } = nextHops[family];
    return `${kind} ${'nextHop' in rest ? rest.nextHop.join('.') : ''}`;
  });
  return [internal, localAsn, fourOctetAsn, maximumLength, ...families].join();
}

/** Tells whether the bucket begins with exactly these prefixes, and a new message could not carry more of them. */
function isFor({ slots, generation, full }: SharedUpdate, rib: FamilyAdjRibOut, bucket: Bucket): boolean {
  if (generation !== rib.table.generation || (!full && slots.length < bucket.size)) return false;
  const { links } = rib;
  let slot = bucket.first;
  for (const expected of slots) {
    if (slot !== expected) return false;
    slot = links[slot] ?? noSlot;
  }
  return true;
}

function slotsOf(rib: FamilyAdjRibOut, bucket: Bucket, count: number): Int32Array {
  const { links } = rib;
  const slots = new Int32Array(count);
  let slot = bucket.first;
  for (let i = 0; i < count && slot !== noSlot; i++) {
    slots[i] = slot;
    slot = links[slot] ?? noSlot;
  }
  return slots;
}
