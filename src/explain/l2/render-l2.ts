import type { SettingForConnections } from '../../decisions/l2/open-connections.ts';
import { reason } from '../../model/reasons.ts';
import type { LiveFrame, LiveLinkPeer } from '../../live/contract.ts';
import { ageText, secondsSince } from '../text/age.ts';
import { withFix } from '../text/reason-lines.ts';
import { answersClients, type L2AddressExplanation, type L2LiveAnswer } from './l2-address.ts';

/** A node that has answered for less than this may not have been asked yet. */
const quietSeconds = 60;

/** Says who answers for an address, and why. `isBrief` leaves out nodes that are no candidates, and live peers. */
export function renderL2Address(explanation: L2AddressExplanation, isBrief: boolean): string[] {
  const { address, protocol, reason: because, owner, next, excluded, connectionsNeed, live = [], askedAt = '' } = explanation;
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const now = Date.parse(askedAt);
  if (because !== undefined) return withFix(`${address} is not announced by ${protocol}: `, because);
  const answering = live.filter(answersClients);
  return [
    `${address} by ${protocol}`,
    ...(answering.length === 0 ? decidedOwner(explanation) : answering.flatMap((one) => ownerLines(one, protocol, now, isBrief))),
    ...live.filter((one) => !answersClients(one)).flatMap((one) => waitingLines(one, now)),
    ...betterLines(explanation, now),
    ...(owner === undefined
      ? []
      : [next === undefined ? `  no other node takes over if ${owner} fails` : `  if ${owner} fails, ${next} answers`]),
    ...(next === undefined || connectionsNeed === undefined ? [] : [`  ${connectionsText(connectionsNeed)}`]),
    ...(isBrief ? [] : excluded.flatMap(({ node, reason: why }) => withFix(`  ${node} is no candidate: `, why))),
  ];
}

const settings: Readonly<Record<SettingForConnections, string>> = {
  externalTrafficPolicy: 'externalTrafficPolicy: Cluster',
  'consistent hashing': 'herald.dev/load-balancing: consistent',
  'direct return': 'herald.dev/direct-return: "true"',
};

function connectionsText(need: readonly SettingForConnections[]): string {
  if (need.length === 0) return 'open connections survive a change of the owner, except those to pods of a node that fails';
  const texts = need.map((setting) => settings[setting]);
  const last = texts.pop() ?? '';
  return `open connections end when the owner changes; with ${texts.length === 0 ? last : `${texts.join(', ')} and ${last}`} they survive`;
}

function decidedOwner({ owner, candidates, protocol }: L2AddressExplanation): string[] {
  const candidate = candidates.find(({ node }) => node === owner);
  if (owner === undefined) return [`  no node answers ${protocol} for it`];
  const where = (candidate?.interfaces ?? []).map(({ name, linkAddress }) => `${name} (${linkAddress})`).join(', ');
  return [`  ${owner} answers${where === '' ? '' : ` on ${where}`}, as decided and reported`];
}

function ownerLines(one: L2LiveAnswer, protocol: string, now: number, isBrief: boolean): string[] {
  const { node, interface: name, link, since, cause, claims, lastAnswer, lastAnnouncement, lastConflict, answersPerMinute } = one;
  const mac = link === undefined ? '' : ` (${link.linkAddress})`;
  const announced = lastAnnouncement === undefined ? 'not announced yet' : `announced ${ago(lastAnnouncement, now)}`;
  const seconds = secondsSince(since, now) ?? 0;
  const isUnasked = lastAnswer === undefined || lastAnswer.at < since;
  const peers = (link?.peers ?? []).filter(({ standing, session }) => !isBrief || standing !== 'in' || session !== 'Up');
  return [
    `  ${node} answers on ${name}${mac} for ${ageText(seconds)}${cause === undefined ? '' : `: ${cause}`}; claimed ${times(claims)} (asked now)`,
    ...(lastAnswer === undefined
      ? [`    no request answered; ${announced}`]
      : [`    last request answered ${frameText(lastAnswer, now)}; ${answersPerMinute} in the last minute; ${announced}`]),
    ...(isUnasked && seconds >= quietSeconds ? withFix('    ', reason('L2NobodyAsks', { node, interface: name, protocol })) : []),
    ...(lastConflict === undefined ? [] : [`    another host claimed the address ${frameText(lastConflict, now)}`]),
    ...(link?.problem === undefined ? [] : [`    ${name}: ${link.problem}`]),
    ...peers.map((peer) => `    ${peerText(peer, now)}`),
  ];
}

/** Says why a node that is asked does not answer. A node that merely waits for the owner to fail is left out. */
function waitingLines({ node, interface: name, state, since, cause, lastConflict }: L2LiveAnswer, now: number): string[] {
  if (state === 'standby') return [];
  const why = cause === undefined ? '' : `: ${cause}`;
  const words = { probing: 'asks whether another host has it', doubtful: 'holds back', conflict: 'gives way to another host' };
  const text = state === 'probing' || state === 'doubtful' || state === 'conflict' ? words[state] : state;
  const conflict = lastConflict === undefined ? '' : `, ${lastConflict.linkAddress}`;
  return [`  ${node} on ${name} ${text}${conflict} for ${ageText(secondsSince(since, now) ?? 0)}${why} (asked now)`];
}

/** Says of each candidate that ranks before the owner why it does not answer. */
function betterLines({ owner, candidates, live = [] }: L2AddressExplanation, now: number): string[] {
  const position = candidates.findIndex(({ node }) => node === owner);
  return candidates.slice(0, Math.max(0, position)).flatMap(({ node, out }) => {
    if (out !== undefined) return withFix(`  ${node} is better placed, but out: `, out);
    const peer = live.find((one) => one.node === owner)?.link?.peers.find((one) => one.node === node);
    return [`  ${node} is better placed, but does not answer${peer === undefined ? '' : `: ${peerText(peer, now)}`}`];
  });
}

function peerText({ node, session, sessionSince, standing, answersWithoutSession }: LiveLinkPeer, now: number): string {
  const since = sessionSince === undefined ? '' : ` for ${ageText(secondsSince(sessionSince, now) ?? 0)}`;
  const state = session === undefined ? `no BFD session with ${node}` : `BFD with ${node} is ${session}${since}`;
  const standings = { in: 'it lives', suspect: 'it is suspect', out: 'it counts as dead' };
  const how = session === 'AdminDown' ? 'it stops or was stopped' : standings[standing];
  return `${state}: ${answersWithoutSession ? 'it answers by ARP or NDP' : how}`;
}

function frameText({ at, linkAddress }: LiveFrame, now: number): string {
  return `${ago(at, now)} (${linkAddress})`;
}

function ago(at: string, now: number): string {
  return `${ageText(secondsSince(at, now) ?? 0)} ago`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
