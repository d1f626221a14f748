/**
 * Announces addresses from this host while a check succeeds, so that routers send clients to the nearest host that works:
 *
 *   node anycast.ts --asn 64512 --router-id 10.0.0.11 --peer 10.0.0.1 --peer-asn 65001 --prefix 192.0.2.53/32 --check 'dig @127.0.0.1 .'
 *
 * `--rise` checks in a row must succeed before the routes are announced, and `--fall` must fail before they are withdrawn. SIGTERM withdraws
 * the routes at once.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Speaker } from 'herald/bgp';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    asn: text,
    'router-id': text,
    peer: { type: 'string', multiple: true },
    'peer-asn': text,
    prefix: { type: 'string', multiple: true },
    check: text,
    interval: { type: 'string', default: '2' },
    rise: { type: 'string', default: '2' },
    fall: { type: 'string', default: '2' },
  },
});
const { check, peer: peers = [], prefix: prefixes = [] } = values;
if (check === undefined) throw new Error('--check COMMAND is needed');

const speaker = new Speaker({ asn: Number(values.asn), routerId: values['router-id'] ?? '' });
for (const address of peers) speaker.addPeer({ address, peerAsn: Number(values['peer-asn']), holdTime: 9 });

const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());
/** How many checks in a row had another result than the announcement has. */
let different = 0;
let announced = false;
while (!stopping.signal.aborted) {
  different = (await succeeds(check)) === announced ? 0 : different + 1;
  if (different >= Number(announced ? values.fall : values.rise)) {
    announced = !announced;
    different = 0;
    speaker.rib.set(announced ? prefixes.map((prefix) => ({ prefix })) : []);
    console.log(announced ? 'announced' : 'withdrawn');
  }
  // An abort only ends the wait.
  await sleep(Number(values.interval) * 1000, undefined, { signal: stopping.signal }).catch(() => undefined);
}
await speaker.stop({ message: 'the announcer stops' });

/** Runs the command in a shell. A check that takes longer than ten seconds has failed. */
function succeeds(command: string): Promise<boolean> {
  const child = spawn('sh', ['-c', command], { stdio: 'ignore', timeout: 10_000, killSignal: 'SIGKILL' });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (status) => resolve(status === 0));
  });
}
