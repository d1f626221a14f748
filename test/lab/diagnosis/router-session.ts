import type { Scene } from './misconfiguration.ts';
import { advertisement, herald, ipv4Only, namespace, pool, service, type Change, type Manifest } from './objects.ts';
import type { Place } from './place.ts';

/** The node of the cases that have a session of their own with tor1, with an address of its own at both ends. */
export const sessionNode = 'node3';

export const ourAddress = ({ index }: Place): string => `10.1.0.${100 + index}`;
export const routerAddress = ({ index }: Place): string => `10.1.0.${180 + index}`;

/** The Service is IPv4 only: a router that is not told otherwise uses no IPv6 next hop that is beyond its own link. */
export function overSession(place: Place, peer: Change = {}, spec: Change = ipv4Only(place)): Manifest[] {
  const { name } = place;
  const usual = {
    myASN: 64512,
    peerASN: 65101,
    peerAddress: routerAddress(place),
    sourceAddress: ourAddress(place),
    nodeSelectors: onSessionNode,
    holdTime: '9s',
    keepaliveTime: '3s',
    connectTime: '1s',
    dualStackAddressFamily: true,
    flapDamping: false,
  };
  return [
    namespace(place),
    pool(place),
    advertisement(place, { spec: { nodeSelectors: onSessionNode, peers: [name] } }),
    herald('BGPPeer', name, { ...usual, ...peer }),
    ...service(place, { spec }),
  ];
}

const onSessionNode = [{ matchLabels: { 'kubernetes.io/hostname': sessionNode } }];

export async function addSession({ lab }: Scene, place: Place): Promise<void> {
  await lab.machine('tor1').ip(`addr add ${routerAddress(place)}/24 dev br0`);
  await lab.machine(sessionNode).ip(`addr add ${ourAddress(place)}/24 dev tor1`);
  const neighbor = `neighbor ${ourAddress(place)}`;
  await lab
    .router('tor1')
    .configure([
      'router bgp 65101',
      `${neighbor} remote-as 64512`,
      ...['ipv4', 'ipv6'].flatMap((family) => [
        `address-family ${family} unicast`,
        `${neighbor} activate`,
        `${neighbor} route-map NOTHING out`,
        'exit-address-family',
      ]),
    ]);
}
