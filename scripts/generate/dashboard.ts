import { homepage } from '../homepage.ts';

/** The Grafana dashboard for the metrics of docs/reference/metrics.md, as data: rows of panels, each with queries. */

interface Query {
  readonly expr: string;
  readonly legend: string;
}

/** A column of a table: the label or query that it shows, its title, and the unit of a query. */
interface Column {
  readonly field: string;
  readonly title: string;
  readonly unit?: Panel['unit'];
  readonly link?: { readonly title: string; readonly url: string };
}

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly unit: 'short' | 's' | 'percentunit' | 'bytes' | 'ops' | 'bool';
  readonly queries: readonly Query[];
  readonly kind?: 'timeseries' | 'stat' | 'table';
  /** Of a table. Its queries have the same labels, and their values are the fields "Value #A", "Value #B" and so on. */
  readonly columns?: readonly Column[];
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const agents = 'job="herald-agent",node=~"$node"';
const quantile = (q: number, metric: string, by = 'le'): string =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${metric}_bucket{${agents}}[$__rate_interval])))`;

const rows: readonly Row[] = [
  {
    title: 'At a glance',
    panels: [
      {
        title: 'Services pending',
        about: 'Services that lack a requested address or load balancer.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: 'sum(herald_pending_services) or vector(0)', legend: 'pending' }],
      },
      {
        title: 'Sessions down',
        about: 'Counted over all nodes and peers.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: 'count(herald_bgp_session_up == 0) or vector(0)', legend: 'down' }],
      },
      {
        title: 'Nodes whose kernel refuses changes',
        about: 'Their rules do not change.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: 'count(herald_dataplane_up == 0) or vector(0)', legend: 'nodes' }],
      },
      {
        title: 'Processes that are not ready',
        about: 'Not ready according to /readyz.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: 'count(herald_ready == 0) or vector(0)', legend: 'processes' }],
      },
      {
        title: 'Controllers that lead',
        about: 'Must always be one.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: 'sum(herald_leader)', legend: 'leaders' }],
      },
      {
        title: 'Objects with errors',
        about: 'Herald ignores them or a part of them.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: 'max(herald_source_problems{severity="error"})', legend: 'objects' }],
      },
    ],
  },
  {
    title: 'Services and addresses',
    panels: [
      {
        title: 'Services pending, by reason',
        about: 'herald explain service shows the fix for each.',
        unit: 'short',
        queries: [{ expr: 'sum by (reason) (herald_pending_services)', legend: '{{reason}}' }],
      },
      {
        title: 'Services pending, by pool and reason',
        about: 'A Service counts once for each pool that gave it no address.',
        unit: 'short',
        queries: [{ expr: 'sum by (pool, reason) (herald_pending_services_by_pool)', legend: '{{pool}}: {{reason}}' }],
      },
      {
        title: 'Addresses in use',
        about: 'Share of the addresses that a pool can assign.',
        unit: 'percentunit',
        queries: [
          {
            expr: '1 - max by (pool, family) (herald_pool_addresses{state="free"}) / max by (pool, family) (herald_pool_size_addresses)',
            legend: '{{pool}} {{family}}',
          },
        ],
      },
      {
        title: 'Conditions of Services',
        about: 'Conditions that are not True.',
        unit: 'short',
        queries: [
          {
            expr: 'sum by (condition, status, reason) (herald_service_conditions{status!="True"}) > 0',
            legend: '{{condition}}={{status}} {{reason}}',
          },
        ],
      },
    ],
  },
  {
    title: 'BGP and BFD',
    panels: [
      {
        title: 'Sessions',
        about: 'kubectl herald explain peer PEER --node NODE shows why a session is down.',
        unit: 'short',
        kind: 'table',
        queries: [
          { expr: `max by (node, peer, address, local_asn, peer_asn) (herald_bgp_session_info{${agents}})`, legend: '' },
          { expr: `max by (node, peer) (herald_bgp_session_up{${agents}})`, legend: '' },
          { expr: `time() - max by (node, peer) (herald_bgp_session_since_timestamp_seconds{${agents}})`, legend: '' },
          { expr: `sum by (node, peer) (herald_bgp_prefixes_advertised{${agents}})`, legend: '' },
          { expr: `sum by (node, peer) (increase(herald_bgp_session_flaps_total{${agents}}[1h]))`, legend: '' },
          { expr: `max by (node, peer, reason) (herald_bgp_session_problem{${agents}})`, legend: '' },
        ],
        columns: [
          { field: 'node', title: 'Node' },
          {
            field: 'peer',
            title: 'Peer',
            link: { title: 'Runbook: the session is down', url: '${docs}/docs/how-to/runbooks.md#heraldbgpsessiondown' },
          },
          { field: 'address', title: 'Peer address' },
          { field: 'local_asn', title: 'Local AS' },
          { field: 'peer_asn', title: 'Peer AS' },
          { field: 'Value #B', title: 'Up', unit: 'bool' },
          { field: 'Value #C', title: 'In this state for', unit: 's' },
          { field: 'Value #D', title: 'Advertised', unit: 'short' },
          { field: 'Value #E', title: 'Flaps in the last hour', unit: 'short' },
          { field: 'reason', title: 'Problem' },
        ],
      },
      {
        title: 'Sessions that are up',
        about: 'Established sessions of each peer, over all nodes.',
        unit: 'short',
        queries: [{ expr: `sum by (peer) (herald_bgp_session_up{${agents}})`, legend: '{{peer}}' }],
      },
      {
        title: 'Flaps',
        about: 'Sessions that went down, by reason, and sessions held in Idle because they flap.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (peer, reason) (increase(herald_bgp_session_flaps_total{${agents}}[$__rate_interval])) > 0`,
            legend: '{{peer}} {{reason}}',
          },
          { expr: `sum by (peer) (herald_bgp_session_held_back{${agents}}) > 0`, legend: '{{peer}} held back' },
        ],
      },
      {
        title: 'Announced prefixes',
        about: 'Prefixes that the nodes announce to each peer.',
        unit: 'short',
        queries: [{ expr: `sum by (peer, family) (herald_bgp_prefixes_advertised{${agents}})`, legend: '{{peer}} {{family}}' }],
      },
      {
        title: 'Messages',
        about: 'Without keepalives.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (direction, type) (rate(herald_bgp_messages_total{${agents},type!="keepalive"}[$__rate_interval]))`,
            legend: '{{direction}} {{type}}',
          },
        ],
      },
      {
        title: 'NOTIFICATIONs',
        about: 'Named as in the RFCs.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (peer, direction, name) (increase(herald_bgp_notifications_total{${agents}}[$__rate_interval])) > 0`,
            legend: '{{peer}} {{direction}} {{name}}',
          },
        ],
      },
      {
        title: 'BFD',
        about: 'Sessions that are up, and how often one went down.',
        unit: 'short',
        queries: [
          { expr: `sum by (peer) (herald_bfd_session_up{${agents}})`, legend: '{{peer}} up' },
          { expr: `sum by (peer) (increase(herald_bfd_session_flaps_total{${agents}}[$__rate_interval])) > 0`, legend: '{{peer}} flaps' },
        ],
      },
    ],
  },
  {
    title: 'ARP and NDP',
    panels: [
      {
        title: 'Addresses owned',
        about: 'Addresses for which a node answers ARP and NDP.',
        unit: 'short',
        queries: [{ expr: `sum by (node, interface) (herald_l2_addresses_owned{${agents}})`, legend: '{{node}} {{interface}}' }],
      },
      {
        title: 'Changes of owners',
        about: 'Times that a node began or ceased to answer for an address. herald history service has each of them.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (node, change, cause) (increase(herald_l2_owner_changes_total{${agents}}[$__rate_interval])) > 0`,
            legend: '{{node}} {{change}}: {{cause}}',
          },
        ],
      },
      {
        title: 'Requests and answers',
        about: 'ARP and NDP, for the addresses of Services.',
        unit: 'ops',
        queries: [
          { expr: `sum by (node) (rate(herald_l2_requests_received_total{${agents}}[$__rate_interval]))`, legend: '{{node}} requests' },
          { expr: `sum by (node) (rate(herald_l2_responses_sent_total{${agents}}[$__rate_interval]))`, legend: '{{node}} answers' },
          { expr: `sum by (node) (rate(herald_l2_gratuitous_sent_total{${agents}}[$__rate_interval]))`, legend: '{{node}} announcements' },
        ],
      },
      {
        title: 'Conflicts and stalls',
        about: 'Claims by other hosts, and times that the thread that answers did not run.',
        unit: 'short',
        queries: [
          {
            expr: `sum by (node, by) (increase(herald_l2_conflicts_total{${agents}}[$__rate_interval])) > 0`,
            legend: '{{node}} conflict: {{by}}',
          },
          { expr: `sum by (node) (increase(herald_l2_stalls_total{${agents}}[$__rate_interval])) > 0`, legend: '{{node}} stalls' },
        ],
      },
      {
        title: 'Candidates without BFD',
        about: 'Their failure is noticed by ARP and NDP only.',
        unit: 'short',
        queries: [{ expr: `sum by (node, interface) (herald_l2_peers_without_liveness{${agents}})`, legend: '{{node}} {{interface}}' }],
      },
      {
        title: 'Frames without an effect',
        about: 'Malformed frames, and those over a limit or dropped by the kernel.',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (node, reason) (rate(herald_l2_ignored_frames_total{reason!~"ownFrame|destination",${agents}}[$__rate_interval]))`,
            legend: '{{node}} {{reason}}',
          },
          {
            expr: `sum by (node) (rate(herald_l2_kernel_drops_total{${agents}}[$__rate_interval]))`,
            legend: '{{node}} dropped by the kernel',
          },
        ],
      },
    ],
  },
  {
    title: 'From a change to the kernel and to the routers',
    panels: [
      {
        title: 'Time until the kernel has the rules',
        about: 'Median and 99th percentile over the nodes.',
        unit: 's',
        queries: [
          { expr: quantile(0.5, 'herald_change_to_rule_duration_seconds', 'le, kind'), legend: '{{kind}} p50' },
          { expr: quantile(0.99, 'herald_change_to_rule_duration_seconds', 'le, kind'), legend: '{{kind}} p99' },
        ],
      },
      {
        title: 'Time until routes are sent',
        about: 'Only changes that alter a route.',
        unit: 's',
        queries: [
          { expr: quantile(0.5, 'herald_change_to_route_duration_seconds', 'le, kind'), legend: '{{kind}} p50' },
          { expr: quantile(0.99, 'herald_change_to_route_duration_seconds', 'le, kind'), legend: '{{kind}} p99' },
        ],
      },
      {
        title: 'Network programming, as kube-proxy measures it',
        about: 'Measured from the change of the pod.',
        unit: 's',
        queries: [{ expr: quantile(0.99, 'kubeproxy_network_programming_duration_seconds', 'le, ip_family'), legend: '{{ip_family}} p99' }],
      },
      {
        title: 'Time until the agent receives the change',
        about: 'Spent in the API server and its controllers.',
        unit: 's',
        queries: [{ expr: quantile(0.99, 'herald_change_heard_duration_seconds'), legend: 'p99' }],
      },
    ],
  },
  {
    title: 'Data plane',
    panels: [
      {
        title: 'Passes',
        about: 'Plan, withdraw, commit, announce.',
        unit: 's',
        queries: [{ expr: quantile(0.99, 'herald_pass_duration_seconds', 'le, result'), legend: '{{result}} p99' }],
      },
      {
        title: 'Transactions',
        about: 'Transactions of nf_tables.',
        unit: 'ops',
        queries: [
          { expr: `sum by (result) (rate(herald_dataplane_transactions_total{${agents}}[$__rate_interval]))`, legend: '{{result}}' },
        ],
      },
      {
        title: 'Repairs and failures',
        about: "Another program changed Herald's rules, or the kernel refused a transaction.",
        unit: 'short',
        queries: [
          { expr: `sum by (node) (increase(herald_dataplane_repairs_total{${agents}}[$__rate_interval])) > 0`, legend: '{{node}} repairs' },
          {
            expr: `sum by (node) (increase(herald_dataplane_failures_total{${agents}}[$__rate_interval])) > 0`,
            legend: '{{node}} failures',
          },
        ],
      },
      {
        title: 'Differences from the decisions',
        about: 'Services that differ, frontends in quarantine, problems of the host.',
        unit: 'short',
        queries: [
          { expr: `sum by (node, aspect, reason) (herald_differing_services{${agents}})`, legend: '{{node}} {{aspect}} {{reason}}' },
          { expr: `sum by (node, why) (herald_dataplane_quarantined_frontends{${agents}}) > 0`, legend: '{{node}} {{why}}' },
          { expr: `sum by (node, reason) (herald_host_problems{${agents}})`, legend: '{{node}} {{reason}}' },
        ],
      },
    ],
  },
  {
    title: 'Controller, API server and AWS',
    panels: [
      {
        title: 'Queues',
        about: 'Keys that wait or are being reconciled.',
        unit: 'short',
        queries: [
          { expr: 'sum by (queue) (herald_queue_depth)', legend: '{{queue}}' },
          { expr: 'sum by (queue) (herald_queue_waiting_retries)', legend: '{{queue}} waiting for a retry' },
        ],
      },
      {
        title: 'Time to reconcile a Service',
        about: '99th percentile.',
        unit: 's',
        queries: [
          {
            expr: 'histogram_quantile(0.99, sum by (le, provider) (rate(herald_reconcile_duration_seconds_bucket[$__rate_interval])))',
            legend: '{{provider}}',
          },
        ],
      },
      {
        title: 'Requests to the API server',
        about: 'By verb and answer.',
        unit: 'ops',
        queries: [
          { expr: 'sum by (job, verb, code) (rate(herald_api_requests_total[$__rate_interval]))', legend: '{{job}} {{verb}} {{code}}' },
        ],
      },
      {
        title: 'Repeated lists',
        about: 'A watch could not resume and listed all objects again.',
        unit: 'short',
        queries: [
          { expr: 'sum by (job, resource) (increase(herald_watch_lists_total[$__rate_interval])) > 0', legend: '{{job}} {{resource}}' },
        ],
      },
      {
        title: 'Requests to AWS',
        about: 'By answer.',
        unit: 'ops',
        queries: [{ expr: 'sum by (code) (rate(herald_aws_requests_total[$__rate_interval]))', legend: '{{code}}' }],
      },
      {
        title: 'Wait before a request to AWS',
        about: '99th percentile.',
        unit: 's',
        queries: [
          {
            expr: 'histogram_quantile(0.99, sum by (le, operation) (rate(herald_aws_wait_duration_seconds_bucket[$__rate_interval])))',
            legend: '{{operation}}',
          },
        ],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Memory',
        about: 'Resident.',
        unit: 'bytes',
        queries: [{ expr: 'process_resident_memory_bytes{job=~"herald-.*"}', legend: '{{job}} {{node}}' }],
      },
      {
        title: 'Processor',
        about: 'Cores.',
        unit: 'short',
        queries: [{ expr: 'rate(process_cpu_seconds_total{job=~"herald-.*"}[$__rate_interval])', legend: '{{job}} {{node}}' }],
      },
      {
        title: 'Delay of the event loop',
        about: '99th percentile.',
        unit: 's',
        queries: [{ expr: 'nodejs_eventloop_lag_p99_seconds{job=~"herald-.*"}', legend: '{{job}} {{node}}' }],
      },
    ],
  },
];

/** Links at the top of the dashboard: title, and path in this repository. */
const links = [
  ['Runbooks of the alerts', 'docs/how-to/runbooks.md'],
  ['Explain a Service: kubectl herald explain service NAMESPACE/NAME', 'docs/how-to/explain.md'],
  ['Look around: kubectl herald status', 'docs/how-to/look-around.md'],
] as const;

const width = 24;
const heights = { stat: 4, timeseries: 8, table: 8 } as const;

/** Returns manifests/monitoring/dashboard.json. */
export function dashboard(): string {
  const panels: object[] = [];
  let y = 0;
  let id = 1;
  for (const { title, panels: inRow } of rows) {
    panels.push({ id: id++, type: 'row', title, collapsed: false, gridPos: { x: 0, y: y++, w: width, h: 1 }, panels: [] });
    const isOverview = inRow.every(({ kind }) => kind === 'stat');
    const columns = isOverview ? inRow.length : 2;
    const height = heights[isOverview ? 'stat' : 'timeseries'];
    for (const [index, panel] of inRow.entries()) {
      const [column, line] = [index % columns, Math.floor(index / columns)];
      const gridPos = { x: (width / columns) * column, y: y + line * height, w: width / columns, h: height };
      panels.push(panelObject(id++, panel, gridPos));
    }
    y += Math.ceil(inRow.length / columns) * height;
  }
  const node = {
    name: 'node',
    label: 'Node',
    type: 'query',
    datasource,
    query: 'label_values(herald_dataplane_up, node)',
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: '.*',
  };
  const docs = {
    name: 'docs',
    label: 'Address of the documentation',
    description: 'Links lead to its folder docs.',
    type: 'textbox',
    query: homepage,
  };
  const source = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };
  const object = {
    uid: 'herald',
    title: 'Herald',
    description: 'Addresses, routes and forwarding of Services of type LoadBalancer.',
    tags: ['herald', 'kubernetes', 'load balancing', 'bgp'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: '',
    templating: { list: [source, node, docs] },
    links: links.map(([title, path]) => ({ title, type: 'link', icon: 'doc', url: `\${docs}/${path}`, targetBlank: true })),
    annotations: { list: [] },
    panels,
  };
  return `${JSON.stringify(object, undefined, 2)}\n`;
}

const datasource = { type: 'prometheus', uid: '${datasource}' } as const;

function panelObject(id: number, { title, about, unit, queries, kind = 'timeseries', columns = [] }: Panel, gridPos: object): object {
  return {
    id,
    type: kind,
    title,
    description: about,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: columns.map(overrideOf) },
    ...(kind === 'table' ? { transformations: asTable(columns) } : {}),
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat: legend,
      range: kind === 'timeseries',
      instant: kind !== 'timeseries',
      ...(kind === 'table' ? { format: 'table' } : {}),
    })),
  };
}

/** Joins the queries by their labels, and shows only the columns, in their order. */
function asTable(columns: readonly Column[]): object[] {
  const titles = Object.fromEntries(columns.map(({ field, title }) => [field, title]));
  const order = Object.fromEntries(columns.map(({ field }, index) => [field, index]));
  return [
    { id: 'merge', options: {} },
    { id: 'organize', options: { excludeByName: { Time: true, 'Value #A': true }, indexByName: order, renameByName: titles } },
  ];
}

function overrideOf({ title, unit, link }: Column): object {
  const properties = [
    ...(unit === undefined ? [] : [{ id: 'unit', value: unit }]),
    ...(unit === 'bool'
      ? [
          { id: 'mappings', value: [{ type: 'value', options: { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } } }] },
          { id: 'custom.cellOptions', value: { type: 'color-text' } },
        ]
      : []),
    ...(link === undefined ? [] : [{ id: 'links', value: [{ ...link, targetBlank: true }] }]),
  ];
  return { matcher: { id: 'byName', options: title }, properties };
}
