/** A BGP peer on every address of its network namespace. It notes when each prefix was announced first. The benchmark calls its methods. */
import { readPaths } from '../../../src/bgp/wire/nlri.ts';
import { formatPrefix } from '../../../src/net/prefix.ts';
import { peerServer } from '../runner/peer-server.ts';
import { answerCalls } from '../runner/caller.ts';
import { heraldAsn, routerAsn, timeNow } from './addresses.ts';

const times = new Map<string, number>();
let sessions = 0;

const server = peerServer(
  { localAsn: routerAsn, peerAsn: heraldAsn },
  {
    session: (change) => void (sessions += change),
    update: ({ announced }) => {
      const now = timeNow();
      for (const nlri of announced) {
        for (const { prefix } of readPaths(nlri)) {
          const text = formatPrefix(prefix);
          if (!times.has(text)) times.set(text, now);
        }
      }
    },
  },
);

answerCalls({
  listen: () => new Promise<void>((resolve) => server.listen({ port: 179, host: '0.0.0.0' }, resolve)),
  sessions: () => sessions,
  times: () => Object.fromEntries(times),
});
