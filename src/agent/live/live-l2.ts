import type { AddressStatus, LinkStatus } from '../../l2/index.ts';
import { defined } from '../../lang/defined.ts';
import type { LiveAddress, LiveFrame, LiveLink, LiveLinkPeer, Page } from '../../live/contract.ts';
import { pageOf, type LiveQuery } from '../../live/query.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { causeTexts } from '../l2/cause-text.ts';
import type { L2Announcer } from '../l2/l2-announcer.ts';

/** Returns a page of the links. Throws LiveQueryError. */
export async function liveLinks(l2: Pick<L2Announcer, 'status'>, query: LiveQuery): Promise<Pick<Page<LiveLink>, 'items' | 'next'>> {
  const links = (await l2.status([]))?.links ?? [];
  const sorted = links.toSorted((a, b) => (a.interface < b.interface ? -1 : 1));
  const { items, ...rest } = pageOf(sorted, (link) => link.interface, query);
  return { items: items.map(liveLink), ...rest };
}

/** Returns a page of the addresses. Asks only for those of the page, because the answer keeps the thread from answering clients. */
export async function liveAddresses(
  l2: Pick<L2Announcer, 'entries' | 'addressesOf' | 'status'>,
  query: LiveQuery,
): Promise<Pick<Page<LiveAddress>, 'items' | 'next'>> {
  const service = query.text('service');
  const wanted = service === undefined ? undefined : new Set(l2.addressesOf(service as ServiceKey));
  const keys = l2.entries().flatMap((entry) => (wanted?.has(entry.address) === false ? [] : [keyOf(entry)]));
  const { items, ...rest } = pageOf(keys.toSorted(), (key) => key, query);
  const page = new Set(items);
  const asked = [...new Set(items.map((key) => key.slice(0, key.indexOf(' '))))];
  const addresses = ((await l2.status(asked))?.addresses ?? []).filter((one) => page.has(keyOf(one)));
  return { items: addresses.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map(liveAddress), ...rest };
}

const keyOf = ({ address, interface: name }: { readonly address: string; readonly interface: string }): string => `${address} ${name}`;

function liveLink({ interface: name, mac, settled, isolated, noPeerLiveness, peers, groups, problem, drops }: LinkStatus): LiveLink {
  return {
    interface: name,
    linkAddress: mac,
    settled,
    isolated,
    noPeerLiveness,
    peers: peers.map(({ node, mac: linkAddress, session, sessionSince, standing, answersWithoutSession }): LiveLinkPeer => ({
      node,
      linkAddress,
      standing,
      answersWithoutSession,
      ...defined({ session, sessionSince: sessionSince?.toISOString() }),
    })),
    groups,
    ...defined({ problem, drops }),
  };
}

function liveAddress(status: AddressStatus): LiveAddress {
  const { address, interface: name, state, since, cause, claims, owner, requests, answers, answersPerMinute } = status;
  return {
    address,
    interface: name,
    state,
    since: since.toISOString(),
    claims,
    requests,
    answers,
    answersPerMinute,
    ...defined({
      cause: cause === undefined ? undefined : causeTexts[cause],
      owner,
      lastRequest: frameOf(status.lastRequest),
      lastAnswer: frameOf(status.lastAnswer),
      lastAnnouncement: status.lastAnnouncement?.toISOString(),
      lastConflict: frameOf(status.lastConflict),
    }),
  };
}

function frameOf(frame: { readonly at: Date; readonly mac: string } | undefined): LiveFrame | undefined {
  return frame === undefined ? undefined : { at: frame.at.toISOString(), linkAddress: frame.mac };
}
