import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { PacketWatch } from '../lab/bfd-packets.ts';
import { until } from '../lab/until.ts';
import { BfdProcess } from './bfd-process.ts';
import { FrrDaemons } from './frr-daemons.ts';
import { Link, routerAddress, speakerAddress } from './link.ts';
import { hostRoot } from './root.ts';
import { startSpeaker, type SpeakerProcess } from './speaker-process.ts';

let link: Link;
let frr: FrrDaemons | undefined;
let ours: BfdProcess | undefined;
let speaker: SpeakerProcess | undefined;

beforeAll(() => {
  link = new Link('hp');
});
afterEach(async () => {
  await ours?.kill();
  await speaker?.kill();
  await frr?.programs.end('SIGKILL');
});
afterAll(() => link.close());

test('BFD-036 FRR treats a neighbour with ttl-security as multihop and uses port 4784', async () => {
  const watch = new PacketWatch(link.speaker);
  frr = new FrrDaemons(hostRoot, link);
  const configuration = `
log stdout informational
router bgp 65001
 neighbor ${speakerAddress[4]} remote-as 64512
 neighbor ${speakerAddress[4]} ttl-security hops 1
 neighbor ${speakerAddress[4]} update-source ${routerAddress[4]}
 neighbor ${speakerAddress[4]} bfd
`;
  await frr.start(configuration, { bfdd: [], bgpd: ['-n'] });
  // FRR runs BFD with a neighbour only when it has BGP with it.
  speaker = startSpeaker(link.speaker);
  await speaker.call('addPeer', { address: routerAddress[4], ttlSecurityHops: 1 });
  ours = new BfdProcess(link.speaker);
  // A single-hop session, at port 3784, receives nothing from FRR.
  await ours.set({ name: 'x', peer: routerAddress[4] });
  await until('FRR speaks', () => watch.seen().length > 0, 20_000);
  expect(watch.seen().map(({ port }) => port)).toEqual([4784]);
  expect((await ours.session()).state).toBe('Down');
  await ours.set({ name: 'x', peer: routerAddress[4], multihop: { minimumTtl: 254 } });
  await until('the session is up', async () => (await ours?.session())?.state === 'Up', 20_000);
});
