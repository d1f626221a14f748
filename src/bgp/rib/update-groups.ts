import assert from 'node:assert';
import type { Family } from '../../net/address.ts';
import { none, type AttributeSet, type AttributeSets } from './interned/attribute-set.ts';
import type { Delta, Run } from './delta.ts';
import { maximumSharedUpdates } from '../limits.ts';
import { packAnnouncements, packWithdrawals, type EncodedAttributes, type PackedUpdate } from './pack-updates.ts';
import type { PrefixTable } from './interned/prefix-table.ts';
import { encodeAttributes } from './route-attributes.ts';
import { ownEncoding, type UpdateFormat } from './update-format.ts';

/**
 * Sessions that get identical UPDATEs for the same routes. Attributes are encoded once for the group, and an UPDATE of a delta is packed once
 * for all members that send the delta.
 */
export class UpdateGroup {
  readonly key: string;
  members = 0;
  /** Number of UPDATEs kept for other members. */
  kept = 0;
  readonly #format: UpdateFormat;
  readonly #sets: AttributeSets;
  readonly #announcements: Record<Family, WeakMap<AttributeSet, EncodedAttributes>> = { 4: new WeakMap(), 6: new WeakMap() };

  constructor(key: string, format: UpdateFormat, sets: AttributeSets) {
    this.key = key;
    this.#format = format;
    this.#sets = sets;
  }

  /** Returns the UPDATE with as many prefixes of the run as fit, from a position on. */
  pack(prefixes: PrefixTable, delta: Delta, run: Run, start: number): PackedUpdate {
    const list = { prefixes, slots: delta.slots, start, end: run.end };
    // A single member has no other member to share UPDATEs with.
    if (this.members < 2) return this.#pack(list, run);
    const updates = delta.packed.get(this) ?? new Map<number, PackedUpdate>();
    delta.packed.set(this, updates);
    const known = updates.get(start);
    if (known !== undefined) return known;
    const [oldest] = updates.keys();
    if (oldest !== undefined && updates.size >= maximumSharedUpdates) {
      updates.delete(oldest);
      this.kept--;
    }
    const packed = this.#pack(list, run);
    updates.set(start, packed);
    this.kept++;
    return packed;
  }

  #pack(list: Parameters<typeof packWithdrawals>[0], { id }: Run): PackedUpdate {
    if (id === none) return packWithdrawals(list, this.#format);
    const set = this.#sets.get(id);
    assert(set !== undefined, 'the attribute set of a delta has no holder');
    return packAnnouncements(list, this.#announcement(list.prefixes.family, set), this.#format);
  }

  #announcement(family: Family, set: AttributeSet): EncodedAttributes {
    let announcement = this.#announcements[family].get(set);
    if (announcement === undefined) {
      announcement = encodedAttributes(set, this.#format, family);
      this.#announcements[family].set(set, announcement);
    }
    return announcement;
  }
}

/** Encodes the attributes of an announcement for one update format. */
export function encodedAttributes(set: AttributeSet, format: UpdateFormat, family: Family): EncodedAttributes {
  const encoding = set.nextHop === undefined ? format.nextHops[family] : ownEncoding(set.nextHop, family);
  const nextHop = encoding.kind === 'impossible' ? undefined : encoding.nextHop;
  const classic = encoding.kind === 'classic';
  return {
    attributes: encodeAttributes(set, format, classic ? nextHop : undefined),
    multiprotocolNextHop: classic ? undefined : nextHop,
  };
}

/** Groups the sessions by update format. */
export class UpdateGroups {
  readonly #sets: AttributeSets;
  readonly #byKey = new Map<string, UpdateGroup>();

  constructor(sets: AttributeSets) {
    this.#sets = sets;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Number of UPDATEs kept for members that have not sent them yet. */
  get kept(): number {
    return this.#byKey.values().reduce((sum, group) => sum + group.kept, 0);
  }

  acquire(format: UpdateFormat): UpdateGroup {
    const key = keyOf(format);
    const group = this.#byKey.get(key) ?? new UpdateGroup(key, format, this.#sets);
    this.#byKey.set(key, group);
    group.members++;
    return group;
  }

  release(group: UpdateGroup): void {
    group.members--;
    if (group.members === 0) this.#byKey.delete(group.key);
  }
}

function keyOf({ internal, localAsn, fourOctetAsn, maximumLength, nextHops, pathIds }: UpdateFormat): string {
  const families = ([4, 6] as const).map((family) => {
    const { kind, ...rest } = nextHops[family];
    return `${kind} ${'nextHop' in rest ? rest.nextHop.join('.') : ''} ${pathIds.includes(family)}`;
  });
  return [internal, localAsn, fourOctetAsn, maximumLength, ...families].join();
}
