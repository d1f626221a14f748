import { defined } from '../../lang/defined.ts';
import { address as parsedAddress, formatAddress } from '../../net/address.ts';
import { formatPrefix, prefixContains } from '../../net/prefix.ts';
import type { Cancel } from '../../system/clock.ts';
import { callAll, type PeerEventOf } from '../diagnosis/events.ts';
import { strangerLogInterval } from '../limits.ts';
import type { BgpComponents } from '../options/components.ts';
import type { PeerGroupOptions, ResolvedPeerGroup } from '../options/peer-group-options.ts';
import type { PeerOptions } from '../options/peer-options.ts';
import type { StateName } from '../diagnosis/session-state.ts';
import type { Incoming, PeerKey } from '../transport/transport.ts';

/** A peer, as far as a group uses it. */
export interface GroupMember {
  readonly name: string;
  on(type: 'state', listener: (event: PeerEventOf<'state'>) => void): () => void;
  status(): { readonly state: StateName; readonly address: string };
  reconfigure(options: PeerOptions): void;
  remove(reason?: string): Promise<void>;
}

/** The status of a group, as plain values. */
export interface PeerGroupStatus {
  readonly name: string;
  readonly ranges: readonly string[];
  readonly maximumPeers: number;
  /** Members at present, and those with a session. */
  readonly peers: number;
  readonly established: number;
  /** Members since the group was added. */
  readonly added: number;
  /** Connections that were refused: the group was full, or the speaker. */
  readonly refused: { readonly groupFull: number; readonly speakerFull: number };
}

/** Callbacks from a group to its speaker. */
interface GroupHost<P> {
  /** Adds a peer that accepts the connection. Undefined: it does not. `full`: the speaker has no room. */
  add(options: PeerOptions, incoming: Incoming): P | 'full' | undefined;
  remove(): void;
  /** Returns the options, checked. Throws. */
  resolve(options: PeerGroupOptions): ResolvedPeerGroup;
  keysChanged(): void;
}

/** Passive peers that are added when they connect from one of the ranges, and removed when they have had no session for a time. */
export class PeerGroup<P extends GroupMember = GroupMember> {
  readonly name: string;
  readonly #components: Pick<BgpComponents, 'clock' | 'log'>;
  #options: ResolvedPeerGroup;
  readonly #host: GroupHost<P>;
  readonly #members = new Map<string, P>();
  readonly #idle = new Map<P, Cancel>();
  readonly #listeners = new Set<(member: P) => void>();
  readonly #refused = { groupFull: 0, speakerFull: 0 };
  #added = 0;
  #logged = -Infinity;

  /** @internal */
  constructor(components: Pick<BgpComponents, 'clock' | 'log'>, options: ResolvedPeerGroup, host: GroupHost<P>) {
    this.name = options.name;
    this.#components = components;
    this.#options = options;
    this.#host = host;
  }

  get peers(): readonly P[] {
    return [...this.#members.values()];
  }

  status(): PeerGroupStatus {
    const { ranges, maximumPeers } = this.#options;
    return {
      name: this.name,
      ranges: ranges.map(formatPrefix),
      maximumPeers,
      peers: this.#members.size,
      established: this.peers.filter((peer) => peer.status().state === 'Established').length,
      added: this.#added,
      refused: { ...this.#refused },
    };
  }

  /** Calls the listener for each new member, before its session is established: routes that it sets are in the first burst. */
  onMember(listener: (member: P) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Makes these the options, except for the name. Members get theirs as by `Peer.reconfigure`; those that are in no range any more are removed.
   * Throws PeerGroupError, PeerOptionsError and UnknownOptionError, and then nothing has changed.
   */
  reconfigure(options: PeerGroupOptions): void {
    const resolved = this.#host.resolve({ ...options, name: this.name });
    this.#options = resolved;
    for (const peer of this.peers) {
      const { address } = peer.status();
      if (this.match({ remoteAddress: parsedAddress(address), ...defined({ vrf: resolved.member.vrf }) }) < 0) void peer.remove();
      else peer.reconfigure({ ...resolved.member, name: peer.name, address });
    }
    this.#host.keysChanged();
  }

  /** Removes the group and its members. With a reason they get Administrative Shutdown and the text. Resolves when their connections are closed. */
  async remove(reason?: string): Promise<void> {
    this.#host.remove();
    this.stop();
    const members = this.peers;
    this.#members.clear();
    await Promise.all(members.map((peer) => peer.remove(reason)));
  }

  /** @internal The speaker stops: no member is removed any more. */
  stop(): void {
    for (const cancel of this.#idle.values()) cancel();
    this.#idle.clear();
  }

  /** @internal Returns the length of the longest range that the connection comes from, in the VRF of the group, or -1. */
  match({ remoteAddress, vrf }: Pick<Incoming, 'remoteAddress' | 'vrf'>): number {
    const { ranges, member } = this.#options;
    if (vrf !== member.vrf) return -1;
    const lengths = ranges.filter((range) => prefixContains(range, remoteAddress)).map(({ length }) => length);
    return Math.max(-1, ...lengths);
  }

  /** @internal Takes a connection from an address of no peer. */
  accept(incoming: Incoming): 'accepted' | 'unwanted' {
    const address = formatAddress(incoming.remoteAddress);
    if (this.#members.size >= this.#options.maximumPeers) return this.#refuse('groupFull', address);
    const peer = this.#host.add({ ...this.#options.member, name: `${this.name}/${address}`, address }, incoming);
    if (peer === 'full') return this.#refuse('speakerFull', address);
    if (peer === undefined) return 'unwanted';
    this.#added++;
    this.#members.set(peer.name, peer);
    peer.on('state', ({ to, from }) => {
      if (to === 'Established') this.#keep(peer);
      else if (from === 'Established') this.#await(peer);
    });
    this.#await(peer);
    callAll(this.#listeners, peer);
    return 'accepted';
  }

  /** @internal A member was removed. */
  removed(peer: P): void {
    if (this.#members.get(peer.name) !== peer) return;
    this.#members.delete(peer.name);
    this.#keep(peer);
  }

  /** @internal The TCP MD5 or TCP-AO keys of the ranges. */
  keys(): PeerKey[] {
    const { ranges, member } = this.#options;
    const { password, tcpAo, vrf } = member;
    const scopes = ranges.map((prefix) => ({ prefix, ...defined({ vrf }) }));
    if (tcpAo !== undefined) return scopes.map((scope) => ({ ...scope, tcpAo }));
    return password === undefined ? [] : scopes.map((scope) => ({ ...scope, password }));
  }

  /** Removes the member unless it has a session in time. */
  #await(peer: P): void {
    this.#keep(peer);
    const cancel = this.#components.clock.after(this.#options.idleTime * 1000, () => {
      this.#idle.delete(peer);
      if (peer.status().state !== 'Established') void peer.remove();
    });
    this.#idle.set(peer, cancel);
  }

  #keep(peer: P): void {
    this.#idle.get(peer)?.();
    this.#idle.delete(peer);
  }

  /** Counts the connection and logs at most one line per interval. */
  #refuse(why: keyof PeerGroupStatus['refused'], address: string): 'unwanted' {
    const { clock, log } = this.#components;
    this.#refused[why]++;
    if (clock.now() - this.#logged >= strangerLogInterval * 1000) {
      this.#logged = clock.now();
      log.warn({ group: this.name, address, refused: { ...this.#refused } }, 'a connection to a peer group was refused because it is full');
    }
    return 'unwanted';
  }
}
