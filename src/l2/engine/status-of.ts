import type { Claim } from '../claim/claim.ts';
import { answersClients } from '../claim/fsm.ts';
import type { AddressStatus, LinkStatus } from '../status.ts';
import type { Transport } from '../transport/transport.ts';
import { formatMac } from '../wire/mac.ts';
import type { LinkView } from './link-view.ts';

export function addressStatus(
  { key, interface: networkInterface, state, notes, deferredTo }: Claim,
  now: number,
  dateOf: (at: number) => Date,
): AddressStatus {
  const { since, cause, claims, requests, answers, lastRequest, lastAnswer, lastAnnouncement, lastConflict, heardFrom } = notes;
  const owner = answersClients(state) ? undefined : (heardFrom?.peer ?? deferredTo);
  return {
    address: key,
    interface: networkInterface,
    state,
    since: dateOf(since),
    claims,
    requests,
    answers,
    answersPerMinute: notes.rate.perMinute(now),
    ...(cause === undefined ? {} : { cause }),
    ...(owner === undefined ? {} : { owner: owner.node }),
    ...(lastRequest === undefined ? {} : { lastRequest: { at: dateOf(lastRequest.at), mac: formatMac(lastRequest.from) } }),
    ...(lastAnswer === undefined ? {} : { lastAnswer: { at: dateOf(lastAnswer.at), mac: formatMac(lastAnswer.from) } }),
    ...(lastAnnouncement === undefined ? {} : { lastAnnouncement: dateOf(lastAnnouncement) }),
    ...(lastConflict === undefined ? {} : { lastConflict: { at: dateOf(lastConflict.at), mac: formatMac(lastConflict.mac) } }),
  };
}

export function linkStatus(link: LinkView, groups: LinkStatus['groups'], transport: Transport, dateOf: (at: number) => Date): LinkStatus {
  const problem = transport.problem(link.interface);
  const drops = transport.drops(link.interface);
  return {
    interface: link.interface,
    mac: formatMac(link.mac),
    settled: link.isSettled,
    isolated: link.isolated,
    noPeerLiveness: link.noPeerLiveness,
    groups,
    peers: [...link.peers.values()].map(({ node, mac, sessionName, session, sessionSince, verdict, standing, answersWithoutSession }) => ({
      node,
      mac: formatMac(mac),
      watched: sessionName !== undefined,
      verdict,
      standing,
      answersWithoutSession,
      ...(session === undefined ? {} : { session }),
      ...(sessionSince === undefined ? {} : { sessionSince: dateOf(sessionSince) }),
    })),
    ...(problem === undefined ? {} : { problem }),
    ...(drops === undefined ? {} : { drops }),
  };
}
