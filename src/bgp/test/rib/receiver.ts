import assert from 'node:assert';
import { address, addressFromBytes, formatAddress, type Family } from '../../../../src/net/address.ts';
import { formatPrefix, maskedPrefix, type Prefix } from '../../../../src/net/prefix.ts';
import type { Negotiated } from '../../../../src/bgp/negotiation/negotiate.ts';
import { updateFormatOf, type NextHops, type UpdateFormat } from '../../../../src/bgp/rib/update-format.ts';
import type { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import type { Community, Route } from '../../../../src/bgp/route.ts';
import { readPaths, type Nlri } from '../../../../src/bgp/wire/nlri.ts';
import { decodeUpdate } from '../../../../src/bgp/wire/update.ts';
import { toHex } from '../hex.ts';
import { ordinary } from '../negotiation/negotiated.ts';

export const negotiated: Negotiated = ordinary;

export const nextHops: NextHops = { ipv4: address('10.0.0.2'), ipv6: address('2001:db8::2') };

export const formatFor = (change: Partial<Negotiated> = {}, localAsn = 4_200_000_000): UpdateFormat =>
  updateFormatOf({ ...negotiated, ...change }, localAsn, undefined, nextHops);

/**
 * A router that knows only the RFCs: its table holds the routes that a real router would hold. It throws when it receives what no speaker
 * may send: a message that is too long, a prefix that is both announced and withdrawn in one message, or the withdrawal of an unknown
 * prefix.
 */
export class Receiver {
  /** Attributes as text, by prefix; a path with another identifier than 1 by prefix and identifier. */
  readonly table = new Map<string, string>();
  announced = 0;
  withdrawn = 0;
  messages = 0;
  /** Called for each prefix that is announced, before the table has it. */
  onAnnounced: (prefix: string, attributes: string) => void = () => {};

  receive(message: Uint8Array, session: UpdateFormat): void {
    this.messages++;
    assert(message.length <= session.maximumLength, `a message of ${message.length} octets`);
    assert.equal((message[16] ?? 0) * 256 + (message[17] ?? 0), message.length);
    const { fourOctetAsn, internal, pathIds } = session;
    const update = decodeUpdate(message.subarray(19), { fourOctetAsn, internal, families: [4, 6], addPathReceive: pathIds });
    if (!update.ok) throw new Error(update.fault.problem);
    assert.deepEqual(update.value.faults, []);
    const { attributes, announced, withdrawn } = update.value;
    const path = attributes.as4Path ?? attributes.asPath ?? [];
    const asns = path.flatMap((segment) => segment.asns);
    assert(session.internal ? asns.length === 0 : asns.every((asn) => asn === session.localAsn));
    const communities = attributeValue(message, 8, 4) + attributeValue(message, 16, 8) + attributeValue(message, 32, 12);
    const text = attributesAsText(attributes.med, asns.length, attributes.localPref, communities);
    const gone = new Set<string>();
    for (const nlri of withdrawn) {
      for (const key of keysOf(nlri, session)) {
        this.withdrawn++;
        gone.add(key);
        assert(this.table.delete(key), `${key} is withdrawn and was not announced`);
      }
    }
    for (const nlri of announced) {
      const withNextHop = `${text}${nextHopAsText(nlri, session)}`;
      for (const key of keysOf(nlri, session)) {
        this.announced++;
        assert(!gone.has(key), `${key} is withdrawn and announced in one message`);
        this.onAnnounced(key, withNextHop);
        this.table.set(key, withNextHop);
      }
    }
  }

  /** Receives up to `most` messages that the RIB has for the session. */
  drain(rib: AdjRibOut, session: UpdateFormat = formatFor(), most = Infinity): void {
    for (let i = 0; i < most; i++) {
      const message = rib.next(session);
      if (message === undefined) return;
      this.receive(message, session);
    }
  }
}

/** Yields the keys of the paths. Each has an identifier on a session with ADD-PATH, and none on another. */
function* keysOf(nlri: Nlri, { pathIds }: UpdateFormat): Generator<string> {
  for (const { prefix, pathId } of readPaths(nlri)) {
    assert.equal(pathId !== undefined, pathIds.includes(nlri.family));
    yield pathKey(prefix, pathId);
  }
}

export const pathKey = (prefix: Prefix, pathId = 1): string => `${formatPrefix(prefix)}${pathId === 1 ? '' : ` path ${pathId}`}`;

/** Returns a next hop other than that of the session. A session that cannot send its own must not have sent that. */
function nextHopAsText({ family, nextHop = new Uint8Array() }: Nlri, { nextHops: sessionNextHops }: UpdateFormat): string {
  const encoding = sessionNextHops[family];
  if (encoding.kind !== 'impossible' && toHex(nextHop) === toHex(encoding.nextHop)) return '';
  assert(nextHop.length === 4 || nextHop.length === 16, `a next hop of ${nextHop.length} octets`);
  return ` via ${formatAddress(addressFromBytes(nextHop))}`;
}

const expected = new WeakMap<Route, WeakMap<UpdateFormat, string>>();

/** Returns the attributes, as text, that a receiver must hold for the route. Walks ask for the same ones after each step. */
export function expectedAttributes(route: Route, session: UpdateFormat): string {
  const ofRoute = expected.get(route) ?? new WeakMap<UpdateFormat, string>();
  expected.set(route, ofRoute);
  const text = ofRoute.get(session) ?? attributesExpectedOf(route, session);
  ofRoute.set(session, text);
  return text;
}

function attributesExpectedOf(route: Route, session: UpdateFormat): string {
  const { med, asPathPrepend = 0, communities = [], localPref = 100, linkBandwidth } = route;
  const hexOfKind = (kind: Community['kind']): string =>
    [...new Set(communities.filter((c) => c.kind === kind).map(communityHex))].toSorted().join('');
  const asn = session.localAsn > 0xffff ? 23456 : session.localAsn;
  const float = Buffer.alloc(4);
  float.writeFloatBE(linkBandwidth ?? 0);
  const bandwidth = linkBandwidth === undefined ? [] : [`4004${hexOf(asn, 4)}${float.toString('hex')}`];
  const extended = [...new Set([...bandwidth, ...communities.filter((c) => c.kind === 'extended').map(communityHex)])].toSorted().join('');
  const text = attributesAsText(
    med,
    session.internal ? 0 : 1 + asPathPrepend,
    session.internal ? localPref : undefined,
    hexOfKind('standard') + extended + hexOfKind('large'),
  );
  return route.nextHop === undefined ? text : `${text} via ${formatAddress(route.nextHop)}`;
}

const hexOf = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

function communityHex(community: Community): string {
  switch (community.kind) {
    case 'standard':
      return hexOf(community.value, 8);
    case 'large':
      return [community.globalAdministrator, community.localData1, community.localData2].map((part) => hexOf(part, 8)).join('');
    case 'extended':
      return hexOf(community.type, 2) + hexOf(community.subtype, 2) + hexOf(community.value, 12);
  }
}

function attributesAsText(med: number | undefined, pathLength: number, localPref: number | undefined, communities: string): string {
  return `med ${med ?? '-'} path ${pathLength} preference ${localPref ?? '-'} ${communities}`;
}

/** Returns the value of one attribute of an UPDATE in hexadecimal, or '' when the attribute is absent. */
function attributeValue(message: Uint8Array, wanted: number, each: number): string {
  const at = (offset: number): number => (message[offset] ?? 0) * 256 + (message[offset + 1] ?? 0);
  let offset = 21 + at(19);
  const end = offset + 2 + at(offset);
  offset += 2;
  while (offset < end) {
    const extended = ((message[offset] ?? 0) & 0x10) !== 0;
    const length = extended ? at(offset + 2) : (message[offset + 2] ?? 0);
    const start = offset + (extended ? 4 : 3);
    if (message[offset + 1] === wanted) {
      assert.equal(length % each, 0);
      return toHex(message.subarray(start, start + length));
    }
    offset = start + length;
  }
  return '';
}

export const host = (n: number, family: Family = 4): Prefix =>
  family === 4
    ? maskedPrefix({ family, value: BigInt(0x0a000000 + n) }, 32)
    : maskedPrefix({ family, value: (0x20010db8n << 96n) + BigInt(n) }, 128);

/** Returns the n-th of a series of different prefixes, whose lengths on the wire differ from those of `host`. */
export const variedPrefix = (n: number, family: Family): Prefix =>
  family === 4 ? maskedPrefix({ family, value: BigInt(n) << 8n }, 24) : maskedPrefix({ family, value: BigInt(n) << 96n }, 48 + (n % 17));
