import type { MetricTable } from '../declaration.ts';

const networkInterface = 'name of the interface';

/** Announcement of addresses by ARP and NDP. */
export const l2Metrics = {
  herald_l2_requests_received_total: {
    type: 'counter',
    help: 'ARP requests and neighbor solicitations for addresses that the node announces or stands ready for.',
    labels: {},
    of: 'agent',
  },
  herald_l2_responses_sent_total: {
    type: 'counter',
    help: 'Answers to ARP requests and neighbor solicitations.',
    labels: {},
    of: 'agent',
  },
  herald_l2_gratuitous_sent_total: {
    type: 'counter',
    help: 'Announcements that no host asked for: gratuitous ARP and unsolicited neighbor advertisements.',
    labels: {},
    of: 'agent',
  },
  herald_l2_probes_sent_total: {
    type: 'counter',
    help: 'Requests by which the node asks whether another one has an address or lives.',
    labels: {},
    of: 'agent',
  },
  herald_l2_send_failures_total: {
    type: 'counter',
    help: 'Frames that the kernel did not send.',
    labels: {},
    of: 'agent',
  },
  herald_l2_addresses_owned: {
    type: 'gauge',
    help: 'Addresses for which the node answers.',
    labels: { interface: networkInterface },
    of: 'agent',
  },
  herald_l2_owner_changes_total: {
    type: 'counter',
    help: 'Times that the node began or ceased to answer for an address.',
    labels: {
      change: 'began or ceased',
      cause:
        'elected (better nodes are gone), probesSilent (a first claim), heardBetter (another node took it), excluded, stop, heardForeign, ...',
    },
    of: 'agent',
  },
  herald_l2_conflicts_total: {
    type: 'counter',
    help: 'Frames by which another host claimed an address of the node.',
    labels: { by: 'foreign (a host that is no node) or node' },
    of: 'agent',
  },
  herald_l2_stalls_total: {
    type: 'counter',
    help: 'Times that the thread that answers did not run for longer than the detection time.',
    labels: {},
    of: 'agent',
  },
  herald_l2_ignored_frames_total: {
    type: 'counter',
    help: 'Received frames of ARP and NDP without an effect.',
    labels: { reason: 'the error in the frame, ownFrame, destination, macLimit or interfaceLimit (too many requests a second)' },
    of: 'agent',
  },
  herald_l2_kernel_drops_total: {
    type: 'counter',
    help: 'Frames that the kernel dropped because the receive buffer was full.',
    labels: { interface: networkInterface },
    of: 'agent',
  },
  herald_l2_peers: {
    type: 'gauge',
    help: 'Other nodes on the link.',
    labels: { interface: networkInterface, standing: 'in (it lives), suspect (it is asked first) or out (it does not count)' },
    of: 'agent',
  },
  herald_l2_peers_without_liveness: {
    type: 'gauge',
    help: 'Other candidates on the link with which BFD is not up, so that their failure is noticed by ARP and NDP only.',
    labels: { interface: networkInterface },
    of: 'agent',
  },
} as const satisfies MetricTable;
