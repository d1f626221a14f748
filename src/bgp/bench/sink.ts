import { receiverAsn, senderAsn } from './addresses.ts';
import { peerServer } from '../../../test/bench/runner/peer-server.ts';
import { answerCalls } from '../../../test/bench/runner/caller.ts';

/** The peers at the other end, on every address of the namespace: they count the prefixes, and record when which MED arrives. */
export interface Counts {
  readonly sessions: number;
  readonly announced: number;
  readonly withdrawn: number;
  readonly updates: number;
}

const counts = { sessions: 0, announced: 0, withdrawn: 0, updates: 0 };
const arrivals = new Map<number, string>();

const server = peerServer(
  { localAsn: receiverAsn, peerAsn: senderAsn },
  {
    session: (change) => void (counts.sessions += change),
    update: ({ announced, withdrawn, attributes: { med } }) => {
      counts.updates++;
      for (const { count } of announced) counts.announced += count;
      for (const { count } of withdrawn) counts.withdrawn += count;
      if (med !== undefined) arrivals.set(med, String(process.hrtime.bigint()));
    },
  },
);

answerCalls({
  listen: () => new Promise<void>((resolve) => server.listen({ port: 179, host: '0.0.0.0', backlog: 4096 }, resolve)),
  counts: (): Counts => counts,
  arrivals: (count: number) => Array.from({ length: count }, (_, n) => arrivals.get(n + 1)),
});
