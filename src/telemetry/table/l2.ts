import { metricsOf } from '../declaration.ts';

const { counter, gauge } = metricsOf('agent');
const networkInterface = 'name of the interface';

/** Announcement of addresses by ARP and NDP. */
export const l2Metrics = {
  herald_l2_requests_received_total: counter(
    'ARP requests and neighbor solicitations for addresses that the node announces or stands ready for.',
  ),
  herald_l2_responses_sent_total: counter('Answers to ARP requests and neighbor solicitations.'),
  herald_l2_gratuitous_sent_total: counter('Announcements that no host asked for: gratuitous ARP and unsolicited neighbor advertisements.'),
  herald_l2_probes_sent_total: counter('Requests by which the node asks whether another one has an address or lives.'),
  herald_l2_send_failures_total: counter('Frames that the kernel did not send.'),
  herald_l2_addresses_owned: gauge('Addresses for which the node answers.', { interface: networkInterface }),
  herald_l2_owner_changes_total: counter('Times that the node began or ceased to answer for an address.', {
    change: 'began or ceased',
    cause:
      'elected (better nodes are gone), probesSilent (a first claim), heardBetter (another node took it), excluded, stop, heardForeign, ...',
  }),
  herald_l2_conflicts_total: counter('Frames by which another host claimed an address of the node.', {
    by: 'foreign (a host that is no node) or node',
  }),
  herald_l2_stalls_total: counter('Times that the thread that answers did not run for longer than the detection time.'),
  herald_l2_ignored_frames_total: counter('Received frames of ARP and NDP without an effect.', {
    reason: 'the error in the frame, ownFrame, destination, macLimit or interfaceLimit (too many requests a second)',
  }),
  herald_l2_kernel_drops_total: counter('Frames that the kernel dropped because the receive buffer was full.', {
    interface: networkInterface,
  }),
  herald_l2_peers: gauge('Other nodes on the link.', {
    interface: networkInterface,
    standing: 'in (it lives), suspect (it is asked first) or out (it does not count)',
  }),
  herald_l2_peers_without_liveness: gauge(
    'Other candidates on the link with which BFD is not up, so that their failure is noticed by ARP and NDP only.',
    { interface: networkInterface },
  ),
};
