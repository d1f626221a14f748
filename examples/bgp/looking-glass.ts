/**
 * Shows over HTTP which routes the routers have for a prefix, and why the best one is best:
 *
 *   node looking-glass.ts --asn 64512 --router-id 10.0.0.9 --peer 10.0.0.1 --peer-asn 65001 --port 8080
 *   curl 'http://127.0.0.1:8080/?prefix=203.0.113.0/24'
 */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { formatAddress, formatPrefix, parsePrefix, Speaker, type ReceivedRoute } from 'herald/bgp';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { asn: text, 'router-id': text, peer: { type: 'string', multiple: true }, 'peer-asn': text, port: text },
});
const speaker = new Speaker({ asn: Number(values.asn), routerId: values['router-id'] ?? '' });
for (const address of values.peer ?? [])
  speaker.addPeer({ address, peerAsn: Number(values['peer-asn']), families: [4, 6], import: { otherwise: 'accept' } });

const server = createServer(({ url = '' }, response) => {
  const prefix = parsePrefix(new URL(url, 'http://localhost').searchParams.get('prefix') ?? '');
  const selection = prefix.ok ? speaker.bestPath(prefix.value) : undefined;
  const others = selection?.eliminated.map(({ route, step }) => ({ ...shown(route), worseBy: step }));
  response.statusCode = prefix.ok ? 200 : 400;
  response.end(`${JSON.stringify(prefix.ok ? { best: selection && shown(selection.best), others } : prefix.problem, undefined, 2)}\n`);
}).listen(Number(values.port), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close();
  void speaker.stop({ message: 'the looking glass stops' });
});

function shown({ prefix, from, nextHops, asPath }: ReceivedRoute): object {
  const path = asPath.flatMap(({ asns }) => asns);
  return { prefix: formatPrefix(prefix), from: from.peer, nextHop: nextHops.map(formatAddress).join(' '), path };
}
