import assert from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import {
  asPathLength,
  decodeMessage,
  describeNotification,
  encodeMessage,
  errorName,
  errorNumbers,
  Framer,
  hardReset,
  innermost,
  linkBandwidthCommunity,
  linkBandwidthOf,
  mergeAs4Path,
  readPaths,
  type Fault,
  type Message,
  type Notification,
  type UpdateMessage,
  type WireSession,
} from '../../../src/bgp/wire/index.ts';
import { maximumFaults } from '../../../src/bgp/limits.ts';

/** The kinds of session in which octets have different meanings. */
export const sessions: readonly WireSession[] = [
  {},
  { fourOctetAsn: false, internal: true },
  { maximum: 65_535, enhancedRouteRefresh: true, addPathReceive: [4, 6] },
  { maximum: 65_535, internal: true, families: [6], addPathReceive: [6] },
  { fourOctetAsn: false, families: [4] },
];

/**
 * Throws when the codec breaks a promise for these octets, which need not be a valid message: an AssertionError, or the error of the codec.
 */
export function checkMessage(bytes: Uint8Array): void {
  for (const session of sessions) {
    const result = decodeMessage(bytes, session);
    if (result.ok) checkDecoded(bytes, session, result.value);
    else checkFault(result.fault, bytes, ['reset']);
  }
}

/** Checks that the framer returns the same for any chunks of a stream. `cuts` are the lengths of the chunks, repeated. */
export function checkStream(stream: Uint8Array, cuts: readonly number[], session: WireSession): void {
  const whole = framesOf([stream], session);
  const chunks: Uint8Array[] = [];
  for (let offset = 0, i = 0; offset < stream.length; i++) {
    const length = Math.max(1, cuts[i % cuts.length] ?? 1);
    chunks.push(stream.slice(offset, offset + length));
    offset += length;
  }
  assert.deepEqual(framesOf(chunks, session), whole);
}

function framesOf(chunks: readonly Uint8Array[], { maximum, enhancedRouteRefresh = false }: WireSession): unknown[] {
  const framer = new Framer(maximum);
  framer.setEnhancedRouteRefresh(enhancedRouteRefresh);
  const found: unknown[] = [];
  for (const chunk of chunks) {
    framer.push(chunk);
    for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
      // The body may be a view of another buffer with the same octets.
      found.push(next.kind === 'frame' ? [next.type, ...next.body] : next.fault);
      if (next.kind === 'fault') return found;
    }
    assert(framer.pending <= Math.max(maximum ?? 4096, chunk.length), `${framer.pending} octets are held`);
  }
  return found;
}

/** Subcode 0, "Unspecific", is only for a malformed OPEN (RFC 5492 5 and practice). Other faults have a name. */
function checkFault(fault: Fault, bytes: Uint8Array, dispositions: readonly Fault['disposition'][]): void {
  const { code, subcode, data, disposition, problem } = fault;
  assert(dispositions.includes(disposition), `a fault that is ${disposition}`);
  const name = errorName(code, subcode);
  assert(/^(Message Header|OPEN Message|UPDATE Message|ROUTE-REFRESH Message) Error/.test(name), `${name} is not the error of a message`);
  assert(name.includes(': ') || (code === 2 && subcode === 0), `${name} has no name`);
  // The data repeats received octets. The header of an attribute in it may have grown or shrunk by an octet.
  assert(data.length <= bytes.length + 2, `${data.length} octets of data for ${bytes.length}`);
  assert.deepEqual(name.includes(': ') ? errorNumbers(name) : { code, subcode }, { code, subcode });
  checkText(problem);
  const answer = encodeMessage({ kind: 'notification', code, subcode, data });
  assert(decodeMessage(answer).ok, 'the NOTIFICATION for the fault is malformed');
}

function checkText(text: string): void {
  assert(text.length > 0 && text.length < 1_000, `a text of ${text.length} characters`);
  assert(!/[\p{Cc}\p{Cf}]/u.test(text), 'a text with control characters');
}

function checkDecoded(bytes: Uint8Array, session: WireSession, message: Message): void {
  if (message.kind === 'update') checkUpdate(message, bytes);
  if (message.kind === 'notification') checkNotification(message);
  const encoded = encodeMessage(message, session);
  // A ROUTE-REFRESH of an unknown subtype may be an octet too short. Encoding completes it.
  assert(encoded.length <= Math.max(bytes.length, 23), `${bytes.length} octets became ${encoded.length}`);
  const again = decodeMessage(encoded, session);
  const faultless = message.kind !== 'update' || message.faults.length === 0;
  assert(again.ok, `the re-encoded message cannot be decoded: ${again.ok ? '' : again.fault.problem}`);
  const [expected, actual] = faultless ? [message, again.value] : [contentOf(message), contentOf(again.value)];
  assert(isDeepStrictEqual(actual, expected), 'the re-encoded message decodes to something else');
}

function checkNotification({ code, subcode, data }: Notification): void {
  const notification = { code, subcode, data };
  checkText(describeNotification(notification));
  assert.deepEqual(innermost(hardReset(notification)), notification);
}

/** Returns the content that is left of a message with tolerated errors. */
function contentOf(message: Message): unknown {
  if (message.kind !== 'update') return message;
  const { withdrawn, announced, attributes } = message;
  return { withdrawn, announced, attributes };
}

function checkUpdate({ withdrawn, announced, attributes, faults, treatAsWithdraw }: UpdateMessage, bytes: Uint8Array): void {
  assert(faults.length <= maximumFaults, `${faults.length} faults`);
  for (const fault of faults) checkFault(fault, bytes, ['discard', 'withdraw']);
  assert.equal(
    treatAsWithdraw,
    faults.some(({ disposition }) => disposition === 'withdraw'),
  );
  for (const nlri of [...withdrawn, ...announced]) assert.equal([...readPaths(nlri)].length, nlri.count);
  for (const { nextHop, multiprotocol, family } of announced) {
    const lengths = multiprotocol ? [16, 32] : [4];
    if (nextHop !== undefined)
      assert([...lengths, ...(family === 4 ? [4] : [])].includes(nextHop.length), `a next hop of ${nextHop.length}`);
  }
  const { asPath = [], as4Path, aggregator, communities = [] } = attributes;
  assert.equal(asPathLength(mergeAs4Path(asPath, as4Path, aggregator?.asn)), asPathLength(asPath));
  for (const community of communities) {
    const bandwidth = linkBandwidthOf(community);
    if (bandwidth === undefined || Number.isNaN(bandwidth.bytesPerSecond)) continue;
    assert.deepEqual(linkBandwidthOf(linkBandwidthCommunity(bandwidth)), bandwidth);
  }
}
