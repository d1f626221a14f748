import { documents, type Manifest } from '../../host/objects.ts';
import type { AgentsOnSegment } from '../../l2-agents/agents-on-segment.ts';
import { announcementManifests, rankedByNumber, serviceManifests } from '../../l2-agents/manifests.ts';

/**
 * A mistake on a link without routers: two nodes n0 and n1, of which n0 answers for the addresses of Service shop/web, 10.77.1.1 and
 * fd77::1:1.
 */
export interface LinkMistake {
  readonly name: string;
  readonly mistake: string;
  readonly code: string;
  /** The Service that suffers. */
  readonly service: string;
  readonly verdict: string;
  readonly make: (bed: AgentsOnSegment) => Promise<void>;
  readonly undo: (bed: AgentsOnSegment) => Promise<void>;
}

const pods = [0, 1];
const file = '20-herald.yaml';

export const soundManifests = (advertisement: Manifest = {}): Manifest[] => [
  ...announcementManifests({ ...rankedByNumber, ...advertisement }),
  ...serviceManifests({ pods }),
];

const restore = (bed: AgentsOnSegment): Promise<void> => bed.write(file, documents(...soundManifests()));

const command = async (bed: AgentsOnSegment, at: number, ...lines: readonly string[]): Promise<void> => {
  for (const line of lines) await bed.exec(at, line.split(' '));
};

export const linkMistakes: readonly LinkMistake[] = [
  {
    name: 'wrong-interface',
    mistake: 'interfaces of the L2Advertisement names an interface that no node has.',
    code: 'L2NoCandidate',
    service: 'shop/web',
    verdict:
      'Not served: none of 2 nodes can announce the address for L2Advertisement segment: node "n0" has no interface for 10.77.1.1: no interface eht0 is up; its links: v0 (10.77.0.0/16, fd77::/64). Make one node fit L2Advertisement segment: nodeSelectors, interfaces, or a network that contains the address.',
    make: (bed) => bed.write(file, documents(...soundManifests({ interfaces: ['eht0'] }))),
    undo: restore,
  },
  {
    name: 'no-network',
    mistake: 'No network of the nodes contains the address, and the L2Advertisement names no interface.',
    code: 'L2NoCandidate',
    service: 'shop/far',
    verdict:
      'Not served: none of 2 nodes can announce the address for L2Advertisement segment: node "n0" has no interface for 198.51.100.1: no network of its interfaces contains 198.51.100.1; its links: v0 (10.77.0.0/16, fd77::/64). Make one node fit L2Advertisement segment: nodeSelectors, interfaces, or a network that contains the address.',
    make: (bed) =>
      bed.write(
        file,
        documents(
          ...soundManifests(),
          {
            apiVersion: 'herald.dev/v1alpha1',
            kind: 'IPAddressPool',
            metadata: { name: 'far' },
            spec: { addresses: ['198.51.100.1-198.51.100.9', '2001:db8::1-2001:db8::9'], autoAssign: false },
          },
          ...serviceManifests({ name: 'far', number: 2, pods, annotations: { 'herald.dev/address-pool': 'far' } }),
        ),
      ),
    undo: restore,
  },
  {
    name: 'kernel-answers',
    mistake: 'Another program put the address on lo of a node that does not own it, and arp_ignore is 0.',
    code: 'L2KernelAnswers',
    service: 'shop/web',
    verdict:
      'Announced, but two nodes answer at once: the kernel of node "n1" answers for 10.77.1.1 by itself: the address is on lo, and arp_ignore of v0 is 0. On node "n1": run sysctl -w net.ipv4.conf.all.arp_ignore=1 (kube-proxy does it with ipvs.strictARP: true), or take the address from lo.',
    make: (bed) => command(bed, 1, 'sysctl -qw net.ipv4.conf.all.arp_ignore=0', 'ip address add 10.77.1.1/32 dev lo'),
    undo: (bed) => command(bed, 1, 'ip address del 10.77.1.1/32 dev lo'),
  },
  {
    name: 'only-node-drops',
    mistake: 'The only node that an L2Advertisement selects drops IPv4 packets that it should forward.',
    code: 'HeldBackLastNextHop',
    service: 'shop/web',
    verdict:
      'Announced over IPv6, but not served over IPv4 at 10.77.1.1: node "n0" does not forward IPv4 (chain forward of table ip strict drops the packets of Services that none of its other rules accepts: its policy is drop), but no node that does announces the address: it stays announced there. Run: nft insert rule ip strict forward ct status dnat accept && nft insert rule ip strict forward ip daddr 10.244.0.0/24 accept && nft insert rule ip strict forward ip saddr 10.244.0.0/24 ct state established,related accept.',
    make: async (bed) => {
      await bed.write(file, documents(...soundManifests({ nodeSelectors: [{ matchLabels: { 'kubernetes.io/hostname': 'n0' } }] })));
      await bed.exec(0, ['nft', 'table ip strict { chain forward { type filter hook forward priority 0; policy drop; }; }']);
    },
    undo: async (bed) => {
      await bed.exec(0, ['nft', 'delete table ip strict']);
      await restore(bed);
    },
  },
];
