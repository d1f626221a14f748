/** A row of the tables about MetalLB's Events, metrics and behaviour, which the translator has no table for. */
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

/** Event reasons of MetalLB 0.16, controller and speaker. Names in backticks in `text` are Herald's reasons. */
export const metallbEvents: readonly Row[] = [
  { name: code('IPAllocated'), does: 'differs', text: '`AddressAssigned`, or `AddressChanged` when the Service had another address.' },
  {
    name: code('AllocationFailed'),
    does: 'differs',
    text: 'A warning with the code of the reason (`PoolFull`, ...) and the reason of every pool.',
  },
  { name: code('ClearAssignment'), does: 'differs', text: '`AddressReleased`. A change of pools never releases an address.' },
  { name: code('LoadBalancerFailed'), does: 'differs', text: 'A warning `InvalidRequest` that names the wrong annotation or field.' },
  { name: code('AdditionalAssignFailed'), does: 'no', text: 'A Service with `PreferDualStack` and one address has what it asks for.' },
  {
    name: '`not enough clusterips`, `nolbIPsIPFamily`, `noclusterIPsIPFamily`',
    does: 'differs',
    text: 'A warning with the code of the reason, such as `PoolHasNoFamily`.',
  },
  { name: code('InternalError'), does: 'no', text: 'A bug ends the process with a stack trace, and the process restarts.' },
  { name: code('deprecatedAnnotation'), does: 'differs', text: 'A warning about the Service in the log of the controller.' },
  {
    name: code('nodeAssigned'),
    does: 'differs',
    text: '`Announced`, once for the Service instead of once for every node. `herald explain service` lists the nodes that announce it.',
  },
  {
    name: code('announceFailed'),
    does: 'differs',
    text: 'The condition Announced is False with the reason, such as `L2NoInterface`. MetalLB writes it when the chosen node has no interface; Herald chooses another node.',
  },
];

const recorded = (text: string) => ({ does: 'differs', text: `A recording rule. ${text}` }) as const;

/** Metrics of MetalLB 0.16: controller, speaker, and frr-k8s, which renamed the metrics of FRR mode. */
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
    text: 'Use `herald_api_requests_total`, which counts by verb and answer.',
  },
  {
    name: code('metallb_k8s_client_config_loaded_bool metallb_k8s_client_config_stale_bool'),
    ...recorded('From `herald_ready` and the errors of `herald_source_problems`. Each object has its own condition `Accepted`.'),
  },
  {
    name: code('metallb_speaker_announced'),
    does: 'no',
    text: 'No metric has a series for each Service. Use the condition `herald.dev/Announced`, or `herald explain service` for nodes and peers.',
  },
  { name: code('metallb_bgp_session_up'), ...recorded('`peer` is the address of the peer with port 179.') },
  {
    name: code('metallb_bgp_updates_total metallb_bgp_announced_prefixes_total'),
    ...recorded('`peer` is the name of the BGPPeer.'),
  },
  {
    name: code('metallb_bgp_pending_prefixes_total'),
    does: 'no',
    text: 'Routes are sent at once. `herald_bgp_prefixes_not_possible` counts those that cannot be sent.',
  },
  {
    name: code('metallb_layer2_requests_received metallb_layer2_responses_sent metallb_layer2_gratuitous_sent'),
    ...recorded('Without the label `ip`, because no metric has a series for each address.'),
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
    text: 'Herald has no echo mode and no zebra.',
  },
];

export const metallbBehaviour: readonly Row[] = [
  {
    name: 'Which Services are served (`--lb-class`)',
    does: 'differs',
    text: '`loadBalancerClass` of HeraldConfig names the class. Services without a class are served too when `defaultClass` is true, which is the default with `compat: metallb`. MetalLB serves either one or the other.',
  },
  {
    name: 'An address in the status that the controller did not write',
    does: 'same',
    text: 'It is adopted: [two controllers](../how-to/migrate-from-metallb.md#both-at-once).',
  },
  {
    name: 'Order of pools',
    does: 'differs',
    text: 'By priority, then by name. In MetalLB, pools without `serviceAllocation` come in random order.',
  },
  {
    name: 'Pools with `serviceAllocation` before the others',
    does: 'same',
    text: 'Pools without it give only what no pool with it can give the Service. `PreferDualStack`: one address of such a pool comes before both families of a pool for everybody, so an internal Service does not become public. `RequireDualStack` needs both families: when no pool with `serviceAllocation` has both, or all are full, the pools for everybody serve the Service. List namespaces in `serviceAllocation` of those too if that must not happen.',
  },
  {
    name: 'A pool that is deleted or shrunk',
    does: 'differs',
    text: 'The Service keeps its address, and its condition names the problem. MetalLB gives the Service another address or none.',
  },
  {
    name: 'Waiting Services',
    does: 'differs',
    text: 'A freed address goes at once to the Service that waited longest. In MetalLB the order is random, and an address that a Service gives up while it keeps another one waits until MetalLB next tries all Services, as after a deletion.',
  },
  {
    name: '`PreferDualStack` with one requested address',
    does: 'differs',
    text: 'The Service gets that address, because the policy accepts one family. MetalLB gives it none.',
  },
  {
    name: 'Requested addresses of two pools',
    does: 'differs',
    text: 'The Service gets both. MetalLB gives it none, because all addresses of a Service come from one pool there.',
  },
  {
    name: 'A request that cannot be met',
    does: 'differs',
    text: 'The Service keeps the addresses that it has, and its condition says why it does not have those that it asks for, so that a mistake does not interrupt it. MetalLB takes its addresses first. Both take an address that the Service may no longer share, or of a family that it no longer has.',
  },
  {
    name: 'An address that still fits',
    does: 'differs',
    text: 'A Service that changes, for example to one family or to both, keeps every address that still fits. MetalLB takes all and assigns anew, which may give it other ones.',
  },
  {
    name: 'A second family that becomes free',
    does: 'differs',
    text: 'A Service with `PreferDualStack` and one address gets the second one when it changes or the controller starts. MetalLB also adds it when another Service is deleted.',
  },
  {
    name: 'Sharing across namespaces',
    does: 'differs',
    text: 'The key alone is not enough: each Service must admit the namespace of the other (`herald.dev/allow-shared-ip-namespaces`), because whoever guesses a key could otherwise take ports of an address of another tenant. `herald import metallb` lists the Services that need it.',
  },
  {
    name: 'A removed sharing key, or a port of the partner',
    does: 'same',
    text: 'The Service that changed loses the shared address at once, and gets another one if a pool has one and it did not request the shared one. Its partner keeps the address.',
  },
  {
    name: 'A sharing Service that changes its `externalTrafficPolicy`',
    does: 'differs',
    text: 'It moves to another address. While none is free it keeps the shared one, because nodes can serve both Services, and its condition says what is missing; MetalLB takes it away.',
  },
  {
    name: 'An address of a Node or a router in a pool',
    does: 'differs',
    text: 'No Service gets an address that [belongs to something else](../explanation/addresses-of-others.md), also on request (`AddressInUseBy`). A Service that has one keeps it, and no node announces it. MetalLB assigns and announces it.',
  },
  {
    name: 'Which address of a pool',
    does: 'differs',
    text: 'One that the Service may share comes first, then the lowest free one. MetalLB takes the lowest that is free or may be shared.',
  },
  {
    name: 'Which nodes announce',
    does: 'same',
    text: "MetalLB's rules in the same order, including `node.kubernetes.io/exclude-from-external-load-balancers` and `NetworkUnavailable`. `herald explain service` shows the reason. A node announces a route only after it forwards.",
  },
  { name: '`--ignore-exclude-lb`', does: 'no', text: 'Remove the label from the node.' },
  { name: 'ConfigMap `bgpextras`', does: 'no', text: 'Raw configuration of FRR, which Herald does not use.' },
  {
    name: 'ConfigMap `metallb-excludel2`',
    does: 'no',
    text: 'Not needed: a node announces on the one interface whose network contains the address, or on those that the L2Advertisement names. `herald import metallb` reports a named interface that the ConfigMap excludes.',
  },
  {
    name: 'Which node answers ARP and NDP',
    does: 'differs',
    text: 'Both choose by a hash, and `preferredNodeSelectors` come first, but the hashes differ, and each address of a Service has its own node. So most addresses have another node after a migration.',
  },
  {
    name: 'Secret `memberlist`, port 7946',
    does: 'no',
    text: 'Nodes watch each other by BFD (UDP port 3784), on the interface on which they announce ([how an owner is chosen](../explanation/failure-modes.md#how-an-owner-is-chosen)).',
  },
  {
    name: 'The webhooks',
    does: 'no',
    text: 'Herald has none. Schemas refuse errors within one object, and conditions report the others.',
  },
  {
    name: 'IPv6, both families on one session, 4-octet AS numbers, MD5, graceful restart, link-local and unnumbered peers',
    does: 'same',
    text: "Always supported, without FRR. MetalLB's native mode supports only some of them.",
  },
];
