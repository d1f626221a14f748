import type { Frontend, NodeForwarding } from '../../net/frontend.ts';
import type { Element } from './element.ts';
import { addressOctets, linkOctets, markOctets, slotOctets, type Octets } from './octets.ts';
import { segmentLadder } from './layout.ts';
import { nodeMark } from './direct-return-identity.ts';
import { partElement } from './parts.ts';

/** Yields the elements that direct server return adds to those of every frontend with slots. `key`: the frontend's key. */
export function* directReturnElements(
  { match, slots, backends, directReturn }: Frontend,
  key: Octets,
): Generator<Pick<Element, 'set' | 'key' | 'value'>> {
  if (directReturn === undefined || slots === undefined || match.kind !== 'address') return;
  const address = addressOctets(match.address);
  yield partElement(match.address.family, 'direct_return');
  yield { set: 'direct_addresses', key: address };
  const segment = segmentLadder.find((size) => size <= (directReturn.segmentSize ?? 0));
  if (segment !== undefined) yield { set: `segment_${segment}`, key: address };
  const marks = backends.map(({ node, path }) =>
    path?.routed === undefined || node === undefined ? undefined : markOctets(nodeMark(node)),
  );
  for (const [slot, index] of slots.backendOf.entries()) {
    const mark = marks[index];
    if (backends[index]?.local === true) yield { set: 'direct_local', key: key + slotOctets(slot) };
    else if (mark !== undefined) yield { set: 'passed_on', key: key + slotOctets(slot), value: mark };
  }
}

export function* directReturnNodeElements({ directReturn }: NodeForwarding): Generator<Element> {
  for (const link of directReturn?.linkAddresses ?? [])
    for (const family of [4, 6] as const) yield { family, set: 'node_links', key: linkOctets(link) };
}
