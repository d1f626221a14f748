/**
 * Writes every message that routers send, and the begin and end of each session, to a file in the format of route collectors (MRT, RFC 6396).
 * `bgpdump -m FILE` shows it:
 *
 *   node mrt-collector.ts --asn 64512 --router-id 10.0.0.9 --peer 10.0.0.1 --peer-asn 65001 --file updates.mrt
 */
import { createWriteStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { Speaker, type Peer } from 'herald/bgp';
import { messageType } from 'herald/bgp/wire';
import { messageRecord, stateRecord, type Session } from './mrt-record.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { asn: text, 'router-id': text, peer: { type: 'string', multiple: true }, 'peer-asn': text, file: text },
});
const file = createWriteStream(values.file ?? 'updates.mrt', { flags: 'a' });
const localAsn = Number(values.asn);
const peerAsn = Number(values['peer-asn']);

const speaker = new Speaker({ asn: localAsn, routerId: values['router-id'] ?? '' });
const peers = (values.peer ?? []).map((address) => speaker.addPeer({ address, peerAsn, families: [4, 6] }));
process.once('SIGTERM', () => void speaker.stop({ message: 'the collector stops' }));
await Promise.all(peers.map(collect));
file.end();

/** Collects from a peer until the speaker stops. */
async function collect(peer: Peer): Promise<void> {
  /** The numbers of the connections whose session is established. There may be two connections for a moment. */
  const established = new Set<number>();
  for await (const event of peer.trace()) {
    if (event.type === 'lost') {
      console.error(`${peer.name}: ${event.count} messages are missing, because the file is slow`);
      continue;
    }
    const { number, ends } = event.connection;
    if (ends === undefined) continue;
    const session: Session = { peerAsn, localAsn, peer: ends.remote.address, local: ends.local.address };
    if (event.type === 'message' && event.direction === 'received') {
      file.write(messageRecord(event.at, session, event.octets, event.session.fourOctetAsn ?? true));
      // The octet after marker and length is the type. The first KEEPALIVE confirms our OPEN (RFC 4271 8.2.2).
      if (event.octets[18] === messageType.keepalive && !established.has(number)) {
        established.add(number);
        file.write(stateRecord(event.at, session, 'OpenConfirm', 'Established'));
      }
    }
    if (event.type === 'closed' && established.delete(number)) file.write(stateRecord(event.at, session, 'Established', 'Idle'));
  }
}
