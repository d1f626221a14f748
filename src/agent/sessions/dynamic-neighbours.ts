import type { Peer, PeerGroup, Route, Speaker } from '../../bgp/index.ts';
import type { SessionIntent } from '../../decisions/announcement/peers.ts';
import type { SessionFacts } from '../../decisions/announcement/sessions/session-facts.ts';
import { defined } from '../../lang/defined.ts';
import { limits } from '../../model/limits.ts';
import type { SessionStatus } from '../../model/objects/node-state.ts';
import { reasonText, type Reason } from '../../model/reasons.ts';
import { cannotListen, causeBefore, type FailedSocket } from './session-status.ts';
import { peerGroupOptions } from './speaker-input.ts';

interface Owner {
  /** Returns the routes that members of the BGPPeer get. */
  allRoutes(peer: string): Route[];
  /** Called for a router that connected first. */
  joined?(member: Peer): void;
}

interface MemberCondition {
  /** Why the settings of the BGPPeer were refused. The group keeps the earlier ones. */
  readonly refusal: Reason | undefined;
  /** Set while the speaker cannot listen. */
  readonly failedSocket: FailedSocket | undefined;
  /** Undefined: unknown. */
  readonly facts: SessionFacts | undefined;
}

/** The sessions of BGPPeers with `dynamicNeighbors`: a group of the speaker for each. Its members come and go by themselves. */
export class DynamicNeighbours {
  readonly #speaker: Speaker;
  readonly #owner: Owner;
  readonly #groups = new Map<string, { readonly group: PeerGroup<Peer>; readonly since: Date }>();

  constructor(speaker: Speaker, owner: Owner) {
    this.#speaker = speaker;
    this.#owner = owner;
  }

  names(): string[] {
    return [...this.#groups.keys()];
  }

  has(peer: string): boolean {
    return this.#groups.has(peer);
  }

  members(peer: string): readonly Peer[] {
    return this.#groups.get(peer)?.group.peers ?? [];
  }

  /** Adds or changes the group of a BGPPeer. Throws what the speaker throws. `now`: the time of the first connection that is possible. */
  reconcile(session: SessionIntent, now: Date): void {
    const { peer: name } = session;
    const options = peerGroupOptions(session);
    const present = this.#groups.get(name);
    if (present !== undefined) {
      present.group.reconfigure(options);
      return;
    }
    const group = this.#speaker.addPeerGroup(options);
    group.onMember((member) => {
      // The session is established in a later turn of the event loop, so its first burst carries all its routes.
      member.routes.set(this.#owner.allRoutes(name));
      this.#owner.joined?.(member);
    });
    this.#groups.set(name, { group, since: now });
  }

  remove(peer: string): void {
    void this.#groups.get(peer)?.group.remove('peer removed from the configuration');
    this.#groups.delete(peer);
  }

  /** Returns one status for all members: established if one is. Undefined: the BGPPeer has no group. */
  status({ peer, localASN, peerASN }: SessionIntent, condition: MemberCondition): SessionStatus | undefined {
    const found = this.#groups.get(peer);
    if (found === undefined) return undefined;
    const { ranges, maximumPeers, refused } = found.group.status();
    const members = found.group.peers.map((member) => member.status());
    const up = members.filter(({ state }) => state === 'Established').toSorted((a, b) => a.since.getTime() - b.since.getTime());
    const failed = members.find(({ lastError }) => lastError !== undefined);
    const full = refused.groupFull === 0 || up.length < maximumPeers ? undefined : `more than ${maximumPeers} routers connected`;
    const none = failed === undefined ? `no router of ${ranges.join(', ')} has connected` : `${failed.address}: ${failed.lastError}`;
    const { refusal, failedSocket } = condition;
    const cause = causeBefore(condition);
    const why = failedSocket !== undefined ? cannotListen(failedSocket) : cause === undefined ? none : reasonText(cause);
    return {
      peer,
      address: ranges.join(', '),
      state: up.length > 0 ? 'Established' : 'Active',
      since: (up[0]?.since ?? found.since).toISOString(),
      localASN,
      peerASN: up[0]?.peerAsn ?? (typeof peerASN === 'number' ? peerASN : 0),
      prefixesSent: sum(up.map(({ prefixesAdvertised: { ipv4, ipv6 } }) => ipv4 + ipv6)),
      ...(up.length === 0 ? {} : { families: familiesOf(up) }),
      ...defined(up.length > 0 ? { lastError: full, warning: refusal } : { lastError: why, cause }),
      neighbors: members.slice(0, limits.neighbors).map(({ address, peerAsn, state, since, lastError }) => ({
        address,
        peerASN: peerAsn,
        state,
        since: since.toISOString(),
        ...defined({ lastError }),
      })),
    };
  }
}

/** Sums the routes of all members in each family that one of them carries. The time of a request counts when all have asked. */
function familiesOf(members: readonly ReturnType<Peer['status']>[]): NonNullable<SessionStatus['families']> {
  return ([4, 6] as const).flatMap((family) => {
    const carrying = members.filter(({ negotiated }) => negotiated?.families.includes(family) === true);
    const name = `ipv${family}` as const;
    const sent = sum(carrying.map(({ prefixesAdvertised }) => prefixesAdvertised[name]));
    const received = sum(carrying.map(({ prefixesReceived }) => prefixesReceived[name]));
    const asked = carrying.flatMap((member) => member.refreshRequested[name]?.toISOString() ?? []).toSorted();
    const refreshRequested = asked.length < carrying.length ? undefined : asked[0];
    return carrying.length === 0 ? [] : [{ family: `IPv${family}` as const, sent, received, ...defined({ refreshRequested }) }];
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
