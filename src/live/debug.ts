/**
 * What a process tells on its Unix socket alone, to its owner: nothing of this is ever on a port.
 *
 *     GET /debug/bgp/trace?peer=NAME    the messages of the sessions with a BGPPeer as they pass: a line of JSON each (src/bgp/trace/trace-lines.ts), without end.
 *                                       404: LiveProblem, with the names of the peers there are
 */
export const debugPaths = { bgpTrace: '/debug/bgp/trace' } as const;
