/** What the translator has no table of: MetalLB's Events, metrics and behaviour, and what Herald does. */
export interface Row {
  readonly name: string;
  readonly does: 'same' | 'differs' | 'no';
  readonly text: string;
}

const code = (names: string): string =>
  names
    .split(' ')
    .map((name) => `\`${name}\``)
    .join(', ');

/** Reasons of MetalLB 0.16, controller and speaker. Those in backticks of `text` are Herald's. */
export const metallbEvents: readonly Row[] = [
  { name: code('IPAllocated'), does: 'differs', text: '`AddressAssigned`, and `AddressChanged` where it had another.' },
  {
    name: code('AllocationFailed'),
    does: 'differs',
    text: 'A warning with the code of the reason (`PoolFull`, ...), and that of every pool.',
  },
  { name: code('ClearAssignment'), does: 'differs', text: '`AddressReleased`. A change of pools takes nothing away here.' },
  { name: code('LoadBalancerFailed'), does: 'differs', text: 'A warning `InvalidRequest`, with the annotation or field at fault.' },
  { name: code('AdditionalAssignFailed'), does: 'no', text: 'A Service with `PreferDualStack` that has one address has what it asks for.' },
  {
    name: '`not enough clusterips`, `nolbIPsIPFamily`, `noclusterIPsIPFamily`',
    does: 'differs',
    text: 'A warning with the code of the reason, such as `PoolHasNoFamily`.',
  },
  { name: code('InternalError'), does: 'no', text: 'A mistake of the program ends it with its place, and it starts again.' },
  { name: code('deprecatedAnnotation'), does: 'differs', text: 'A warning of the Service in the log of the controller.' },
  {
    name: code('nodeAssigned'),
    does: 'differs',
    text: '`Announced`, once for the Service and not by every node each time. Which node announces what: `herald explain service`.',
  },
  { name: code('announceFailed'), does: 'no', text: 'Of layer 2.' },
];

const recorded = (text: string) => ({ does: 'differs', text: `A recording rule. ${text}` }) as const;

/** Names of MetalLB 0.16: controller, speaker, and frr-k8s, which has renamed those of FRR mode. */
export const metallbMetrics: readonly Row[] = [
  {
    name: code(
      'metallb_allocator_addresses_total metallb_allocator_addresses_in_use_total metallb_allocator_ipv4_addresses_total metallb_allocator_ipv4_addresses_in_use_total metallb_allocator_ipv6_addresses_total metallb_allocator_ipv6_addresses_in_use_total',
    ),
    ...recorded('From `herald_pool_size_addresses` and `herald_pool_addresses`.'),
  },
  { name: code('metallb_allocator_services_allocated_total'), does: 'no', text: 'MetalLB registers it and never sets it.' },
  {
    name: code('metallb_k8s_client_updates_total metallb_k8s_client_update_errors_total'),
    does: 'no',
    text: '`herald_api_requests_total` by verb and answer.',
  },
  {
    name: code('metallb_k8s_client_config_loaded_bool metallb_k8s_client_config_stale_bool'),
    ...recorded('`herald_ready`, and whether `herald_source_problems` has errors: each object has its own condition `Accepted`.'),
  },
  {
    name: code('metallb_speaker_announced'),
    does: 'no',
    text: 'No metric has a series for each Service: the condition `herald.dev/Announced`; `herald explain service` by node and peer.',
  },
  { name: code('metallb_bgp_session_up'), ...recorded('`peer` is the address of the peer with port 179.') },
  {
    name: code('metallb_bgp_updates_total metallb_bgp_announced_prefixes_total'),
    ...recorded('`peer` is the name of the BGPPeer.'),
  },
  {
    name: code('metallb_bgp_pending_prefixes_total'),
    does: 'no',
    text: 'What is to be sent is sent at once; what cannot be is in `herald_bgp_prefixes_not_possible`.',
  },
  {
    name: code('metallb_layer2_requests_received metallb_layer2_responses_sent metallb_layer2_gratuitous_sent'),
    does: 'no',
    text: 'Of layer 2.',
  },
  {
    name: code(
      'frrk8s_bgp_session_up frrk8s_bgp_announced_prefixes_total frrk8s_bgp_received_prefixes_total frrk8s_bgp_opens_sent frrk8s_bgp_opens_received frrk8s_bgp_notifications_sent frrk8s_bgp_updates_total frrk8s_bgp_updates_total_received frrk8s_bgp_keepalives_sent frrk8s_bgp_keepalives_received frrk8s_bgp_route_refresh_sent frrk8s_bgp_total_sent frrk8s_bgp_total_received',
    ),
    ...recorded('Without the label `vrf`.'),
  },
  {
    name: code(
      'frrk8s_bfd_session_up frrk8s_bfd_control_packet_input frrk8s_bfd_control_packet_output frrk8s_bfd_session_up_events frrk8s_bfd_session_down_events',
    ),
    ...recorded('Without the label `vrf`.'),
  },
  {
    name: code('frrk8s_bfd_echo_packet_input frrk8s_bfd_echo_packet_output frrk8s_bfd_zebra_notifications'),
    does: 'no',
    text: 'There is no echo mode and no zebra here.',
  },
];

export const metallbRest: readonly Row[] = [
  {
    name: 'Which Services are served (`--lb-class`)',
    does: 'differs',
    text: 'HeraldConfig: `loadBalancerClass` names the class, and Services without one are served too where `defaultClass` is true, as it is with `compat: metallb`. MetalLB serves either the one or the other.',
  },
  {
    name: 'An address in the status that the controller did not write',
    does: 'same',
    text: 'It is adopted: [two controllers](../how-to/migrate-from-metallb.md#both-at-once).',
  },
  {
    name: 'Order of pools',
    does: 'differs',
    text: 'By priority, then by name; in MetalLB pools without `serviceAllocation` come in random order.',
  },
  {
    name: 'A pool that is deleted or shrunk',
    does: 'differs',
    text: 'Takes nothing away: the Service keeps its address, and its condition says what is amiss. MetalLB gives it another address or none.',
  },
  { name: 'Waiting Services', does: 'differs', text: 'What becomes free goes to the one that has waited longest.' },
  {
    name: 'Which nodes announce',
    does: 'same',
    text: "MetalLB's rules in its order, `node.kubernetes.io/exclude-from-external-load-balancers` and `NetworkUnavailable` among them; with the reason in `herald explain service`. A route waits until the node forwards.",
  },
  { name: '`--ignore-exclude-lb`', does: 'no', text: 'Take the label off the node.' },
  { name: 'ConfigMap `bgpextras`', does: 'no', text: 'Raw configuration of FRR, which Herald does not have.' },
  { name: 'ConfigMap `metallb-excludel2`, Secret `memberlist`', does: 'no', text: 'Of layer 2.' },
  {
    name: 'The webhooks',
    does: 'no',
    text: 'There are none: schemas refuse what can be seen in one object, and conditions say the rest.',
  },
  {
    name: 'IPv6, both families on one session, 4-octet AS numbers, MD5, graceful restart, link-local and unnumbered peers',
    does: 'same',
    text: "In one mode, which is not FRR. MetalLB's native mode has only some of it.",
  },
];
