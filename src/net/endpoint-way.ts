import type { Address, Family } from './address.ts';
import type { Prefix } from './prefix.ts';

/** Why a host reaches no machine at an address, by its routes, its bridges and its neighbours. */
export type NoWay =
  | {
      readonly kind: 'unroutable';
      /** "no route", "route unreachable 10.244.3.0/24". */
      readonly route: string;
      /** Commands that make a way. Absent: the program that sets the routes must. */
      readonly remedy?: string;
    }
  | { readonly kind: 'notOnLink'; readonly interface: string }
  /** The host has a way, but the endpoint is on another node than its EndpointSlice ("shop/web-abc") says. */
  | { readonly kind: 'onOtherNode'; readonly slice: string; readonly other: string; readonly shownBy: 'range' | 'route' };

/** An interface by which packets of clients for other nodes certainly do not leave, with the reason and the remedy. */
export interface DroppingInterface {
  readonly interface: string;
  readonly families: readonly Family[];
  /** Packets for machines behind a gateway may not be dropped. */
  readonly onLinkOnly?: true;
  readonly why: string;
  readonly remedy: string;
}

/** The machine on a link to which packets for an address go first. */
export interface LinkHop {
  /** Index of the interface. */
  readonly index: number;
  readonly address: Address;
  /** It passes the packets on. False: the packets are for it. */
  readonly isGateway: boolean;
}

/** The answer of a host's routes about an address. */
export interface RouteAnswer {
  /** Why packets to the address certainly go nowhere. Absent: they may go somewhere. */
  readonly problem?: string;
  /** Absent: the packets stay on this host, or take one of several hops. */
  readonly hop?: LinkHop;
  /** The packets take one of several hops. */
  readonly isSpread?: true;
}

/** Whether a machine on a link has answered for its address, by the kernel. */
export interface Neighbor {
  readonly index: number;
  /** Name of the interface. */
  readonly interface: string;
  readonly address: Address;
  /** known: its link-layer address is known. failed: nobody answered. asking: no answer yet. */
  readonly state: 'known' | 'failed' | 'asking';
  /** Milliseconds since the kernel last changed the state. */
  readonly age: number;
  /** Packets for the address certainly reach no machine, although it is known. */
  readonly wrong?: WrongNeighbor;
}

/** An entry whose link-layer address no machine on the link has. */
export interface WrongNeighbor {
  readonly why: string;
  readonly remedy: string;
}

/** Addresses to which another route may lead now: those in a prefix, or those behind an interface. Undefined: any. */
export type RouteChange = { readonly prefix: Prefix } | { readonly index: number } | undefined;

/** An answer of an endpoint to a client. */
export interface AnswerQuestion {
  readonly client: Address;
  readonly endpoint: Address;
}

/** The way by which a host passes answers on to a client. Neither: nothing certain can be said. */
export interface AnswerWay {
  /** Why they certainly go nowhere. */
  readonly problem?: string;
  /** The command that ends the problem. Absent: it is not known. */
  readonly remedy?: string;
  readonly route?: AnswerRoute;
}

export interface AnswerRoute {
  readonly prefix: Prefix;
  /** Name of the interface by which they leave. */
  readonly interface: string;
  readonly hop: LinkHop;
  /** The interface asks for no machine on a link, as that of a tunnel. */
  readonly isTunnel?: true;
  /** The rule that leads to the table of the route. Absent: it is a usual table. */
  readonly rule?: LeadingRule;
}

/** A rule of the routing policy that leads packets to a table of their own. */
export interface LeadingRule {
  readonly preference: number;
  /** "5270 (from all lookup 52)". */
  readonly text: string;
  readonly table: number;
}

/** Why answers to clients certainly do not arrive, by the routes of the host. */
export type LostAnswers =
  /** "route unreachable 10.9.0.0/24". */
  | { readonly kind: 'unroutable'; readonly route: string; readonly remedy?: string }
  /** They leave by an interface by which clients do not come. `uplinks`: those by which they do, sorted. */
  | {
      readonly kind: 'elsewhere';
      readonly clients: string;
      readonly interface: string;
      readonly uplinks: readonly string[];
      readonly rule?: LeadingRule;
    };
