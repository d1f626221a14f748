/**
 * What a running agent, controller or `herald run` tells of itself, read-only, as JSON over HTTP. All of it is on the process's Unix socket on its
 * host; `/live/...` is on the port of metrics besides, which the API server's pod proxy reaches, unless that was switched off.
 *
 *     GET /live                 LiveIndex: which process it is, and what it tells
 *     GET /live/v1/sessions     Page of LiveSession                     agents   ?peer=
 *     GET /live/v1/routes       Page of LiveRoute                       agents   ?peer= &family=IPv4|IPv6 &service=NS/NAME
 *     GET /live/v1/history      Page of HistoryEntry, oldest first      all      ?kind=Service|BGPPeer &namespace= &name= &since=RFC 3339
 *
 * Every list takes `limit` (1 to 5000; default 1000; a page at the port has up to 500) and `after`: the `next` of the page before. A page is how things were in one moment; what
 * changes between two pages may be missed or come twice. 400 where a parameter is wrong, 404 where the process has no such thing, 429 at the
 * port while it answers somebody else: LiveProblem. At the port the connection ends with each answer. Fields are
 * added under `v1`, none changes its meaning; readers pass over what they do not know.
 *
 * What must not leave the host (messages of BGP) is answered on the socket alone, under `/debug/...`.
 */
import type { SessionStatus } from '../model/objects/node-state.ts';

export const livePaths = { index: '/live', sessions: '/live/v1/sessions', routes: '/live/v1/routes', history: '/live/v1/history' } as const;

/**
 * What a process tells on its Unix socket alone, to its owner: nothing of this is ever on a port.
 *
 *     GET /debug/bgp/trace?peer=NAME    the messages of the sessions with a BGPPeer as they pass: a line of JSON each (src/bgp/trace/trace-lines.ts), without end.
 *                                       404: LiveProblem, with the names of the peers there are
 */
export const debugPaths = { bgpTrace: '/debug/bgp/trace' } as const;

/** Which process answers: whoever asks at a socket must know that it is the one that was meant. */
export interface LiveProcess {
  readonly command: 'agent' | 'controller' | 'run';
  readonly version: string;
  /** Of an agent, once it has begun. */
  readonly node?: string;
  /** Where its objects come from: the absolute path of a directory; absent: a cluster. */
  readonly directory?: string;
  /** RFC 3339. What happened before is not in its history. */
  readonly started: string;
}

export interface LiveIndex {
  readonly process: LiveProcess;
  /** Paths that this process answers. */
  readonly paths: readonly string[];
}

export interface Page<T> {
  readonly process: LiveProcess;
  /** When this was so, RFC 3339. */
  readonly at: string;
  readonly items: readonly T[];
  /** There is more: `after` of the next request. */
  readonly next?: string;
}

export interface LiveProblem {
  readonly error: string;
  readonly fix: string;
}

export interface LiveSession extends SessionStatus {
  /** The capabilities in the OPEN of each side, in words, as far as they were exchanged. Absent: there is no session. */
  readonly capabilities?: { readonly sent: readonly string[]; readonly received: readonly string[] };
}

/** A route as a router was sent it in the session that is up: of what the speaker holds, not of what it should. */
export interface LiveRoute {
  readonly peer: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly prefix: string;
  /** One; behind a global IPv6 address the link-local one, where that is told too (RFC 2545 3). Empty: its withdrawal waits. */
  readonly nextHops: readonly string[];
  /** The nearest first; empty to a peer of the same AS. */
  readonly asPath: readonly number[];
  /** To a peer of the same AS. */
  readonly localPref?: number;
  readonly med?: number;
  /** "64512:100", "large:64512:1:2". */
  readonly communities: readonly string[];
  /** "namespace/name" of those that it is for; none: its withdrawal waits. */
  readonly services: readonly string[];
  /** Services beyond those. */
  readonly moreServices?: number;
  /** Its withdrawal, or another form of it, waits for the router to read. */
  readonly changing?: true;
}

export const historyKinds = ['Service', 'BGPPeer'] as const;
export type HistoryKind = (typeof historyKinds)[number];

/**
 * What happened. By an agent, of a Service: Announced, Withdrawn, Changed (attributes of its routes), Programmed (the kernel has other frontends or
 * endpoints), Removed (it has none any more), Refused, Accepted (after that). Of a BGPPeer: SessionUp, SessionDown. By the controller: the reasons of
 * Events (docs/reference/events.md), such as AddressAssigned and AddressReleased.
 */
export interface HistoryEntry {
  /** RFC 3339, with milliseconds. */
  readonly at: string;
  readonly kind: HistoryKind;
  /** "namespace/name" of a Service. */
  readonly name: string;
  readonly what: string;
  /** In words, without the reason. */
  readonly text: string;
  readonly reason?: { readonly code: string; readonly message: string; readonly fix: string };
  /** What had changed before, the likeliest first. Absent: no object: a session, the kernel, the clock, or the start of the process. */
  readonly causes?: readonly HistoryCause[];
  /** Up to 16 of them. */
  readonly routes?: readonly HistoryRoute[];
  /** Routes beyond those. */
  readonly moreRoutes?: number;
}

export interface HistoryCause {
  readonly kind: string;
  /** "namespace/name", or the name of a cluster-scoped object. */
  readonly name: string;
  /** As the API server counts; of a directory the time of the file in nanoseconds. Absent where it is deleted. */
  readonly resourceVersion?: string;
  readonly deleted?: true;
}

export interface HistoryRoute {
  readonly peer: string;
  readonly prefix: string;
}
