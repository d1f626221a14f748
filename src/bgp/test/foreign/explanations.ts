import { attributeRules } from '../../wire/attributes/attribute-rules.ts';
import { afi, attributeType, safi, updateError } from '../../wire/codes.ts';
import type { ForeignCase } from './foreign-case.ts';
import type { Treatment } from './examine.ts';

/** Why this codec differs from a suite, and the section that demands or allows it. */
export interface Explanation {
  readonly section: string;
  readonly why: string;
}

interface Attribute {
  readonly type: number;
  readonly flags: number;
  readonly value: Uint8Array;
}

const partial = 0x20;
const optional = 0x80;
const extendedLength = 0x10;

/** Returns why the treatment is right although the suite expects another. Undefined: nothing explains it. */
export function explanationOf(of: ForeignCase, treatment: Treatment): Explanation | undefined {
  return of.attribute === undefined ? ofWholeMessage(of, treatment) : ofAttribute(of, of.attribute, treatment);
}

/** A suite calls a message valid that an RFC does not allow. The octets are read again here, so that a fault of the codec is no explanation. */
function ofWholeMessage({ bytes }: ForeignCase, { kind, fault }: Treatment): Explanation | undefined {
  const attributes = [...attributesOf(bytes)];
  const first = attributes.find(({ type }) => type === attributeType.nextHop)?.value[0] ?? 1;
  if (kind === 'withdraw' && fault?.subcode === updateError.nextHop && (first === 0 || first === 127 || first >= 224)) {
    return { section: 'RFC 4271 6.3', why: 'the next hop of the message is no valid IP host address' };
  }
  const isUnknown = attributes.some(({ type, flags }) => attributeRules[type] === undefined && (flags & optional) === 0);
  if (kind === 'withdraw' && fault?.subcode === updateError.unrecognizedWellKnown && isUnknown) {
    return { section: 'RFC 7606 3 (i)', why: 'the message has an unknown attribute whose flags say that each speaker knows it' };
  }
  const reach = attributes.find(({ type }) => type === attributeType.mpReach)?.value ?? [];
  if (kind === 'reset' && reach[1] === afi.ipv6 && reach[2] === safi.unicast && reach[3] === 4) {
    return {
      section: 'RFC 2545 3',
      why: 'IPv6 prefixes have a next hop of 16 or 32 octets; RFC 8950 allows IPv6 next hops for IPv4, not the reverse',
    };
  }
  return undefined;
}

function ofAttribute(
  { expected, session }: ForeignCase,
  { type, flags }: Pick<Attribute, 'type' | 'flags'>,
  { kind }: Treatment,
): Explanation | undefined {
  const isMultiprotocol = type === attributeType.mpReach || type === attributeType.mpUnreach;
  if (isMultiprotocol && kind === 'reset' && expected.treatment === 'reset') {
    return { section: 'RFC 4760 7', why: 'the NOTIFICATION has the subcode Optional Attribute Error' };
  }
  if (kind === 'accepted' && attributeRules[type] === undefined && (flags & optional) !== 0) {
    return {
      section: 'RFC 4271 5',
      why: 'an optional attribute that a speaker does not know is not inspected, and this speaker passes none on',
    };
  }
  if (kind === 'accepted' && (flags & partial) !== 0) {
    return { section: 'RFC 7606 3 (c)', why: 'only the bits Optional and Transitive are compared, not Partial' };
  }
  if (kind === 'discard' && (type === attributeType.as4Path || type === attributeType.as4Aggregator)) {
    return {
      section: 'RFC 6793 4.1',
      why: 'from a peer with four-octet AS numbers the attribute is discarded before its flags and value are read',
    };
  }
  const isReflection = type === attributeType.originatorId || type === attributeType.clusterList;
  if (kind === 'discard' && isReflection && session.internal === false) {
    return { section: 'RFC 7606 7.9 and 7.10', why: 'the attribute from an external peer is discarded, whatever its flags' };
  }
  if (kind === 'accepted' && type === attributeType.onlyToCustomer && expected.treatment === 'withdraw') {
    return { section: 'RFC 9234 5', why: 'only another length than 4 makes the attribute malformed' };
  }
  return undefined;
}

/** Yields the attributes of a whole UPDATE (RFC 4271 4.3), until one is cut off. */
function* attributesOf(message: Uint8Array): Generator<Attribute> {
  const view = Buffer.from(message);
  if (view.length < 23) return;
  const start = 23 + view.readUInt16BE(19);
  if (start > view.length) return;
  const end = Math.min(view.length, start + view.readUInt16BE(start - 2));
  for (let at = start; at + 4 <= end;) {
    const [flags, type] = [view.readUInt8(at), view.readUInt8(at + 1)];
    const isLong = (flags & extendedLength) !== 0;
    const from = at + (isLong ? 4 : 3);
    at = from + (isLong ? view.readUInt16BE(at + 2) : view.readUInt8(at + 2));
    if (at > end) return;
    yield { type, flags, value: view.subarray(from, at) };
  }
}
