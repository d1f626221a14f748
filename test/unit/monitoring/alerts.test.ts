import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dashboard } from '../../../scripts/generate/dashboard.ts';
import { homepage } from '../../../scripts/homepage.ts';
import { metallbMetrics } from '../../../scripts/generate/metallb-tables.ts';
import type { FlapReason } from '../../../src/bgp/index.ts';
import { allMetrics } from '../../support/built-in-providers.ts';
import { Metrics } from '../../../src/telemetry/metrics.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { registerProcessMetrics, registeredMetrics } from '../../../src/telemetry/process-metrics.ts';
import { alerts, promtool, rules, type Series } from './promtool.ts';
import { changed, constant, healthy, minutes } from './recorded.ts';

const root = join(import.meta.dirname, '../../..');
const agent = 'job="herald-agent",node="node1",instance="10.0.0.11:10290"';
const controller = 'job="herald-controller",node="node2",instance="10.244.2.7:10292"';
const other = 'job="herald-controller",node="node3",instance="10.244.3.7:10292"';

const always = (series: string, value: number): Series => ({ series, values: constant(value) });
const growing = (series: string, byMinute: number): Series => ({ series, values: `0+${byMinute}x${minutes}` });

/** The fault that each alert reports, as changes to the recorded series of a healthy cluster. */
const faults: Readonly<Record<string, readonly Series[]>> = {
  HeraldAgentDown: [always(`up{${agent}}`, 0)],
  HeraldAgentVanished: [always(`herald_nodes_without_report{last="silent",${controller}}`, 2)],
  HeraldNoLeader: [always(`herald_leader{${controller}}`, 0)],
  HeraldStatusRefused: [always(`herald_refused_statuses{${controller}}`, 3)],
  HeraldSeveralLeaders: [always(`herald_leader{${other}}`, 1)],
  HeraldNotReady: [always(`herald_ready{${agent}}`, 0)],
  HeraldBGPSessionDown: [always(`herald_bgp_session_up{peer="tor9",${agent}}`, 0)],
  HeraldNodeWithoutSession: [always('herald_bgp_session_up{peer="tor1",job="herald-agent",node="node9",instance="10.0.0.19:10290"}', 0)],
  HeraldServiceWithoutNextHop: [
    always(`herald_service_conditions{condition="Announced",status="False",reason="NoAdvertisement",${controller}}`, 1),
  ],
  HeraldNodeHeldBack: [always(`herald_node_held_back{family="ipv4",${agent}}`, 1)],
  HeraldLastNextHopCannotForward: [always(`herald_held_back_last_next_hop_services{${agent}}`, 2)],
  HeraldBGPSessionFlapping: [growing(`herald_bgp_session_flaps_total{peer="tor9",reason="holdTimerExpired",${agent}}`, 1)],
  HeraldBFDDown: [
    always(`herald_bgp_session_up{peer="tor9",${agent}}`, 1),
    always(`herald_bgp_session_problem{peer="tor9",reason="BFDDown",${agent}}`, 1),
  ],
  HeraldL2AddressConflict: [growing(`herald_l2_conflicts_total{by="foreign",${agent}}`, 1)],
  HeraldL2OwnerFlapping: [
    always(`herald_l2_addresses_owned{interface="eth0",${agent}}`, 2),
    growing(`herald_l2_owner_changes_total{change="ceased",cause="heardBetter",${agent}}`, 1),
  ],
  HeraldL2NoPeerLiveness: [always(`herald_l2_peers_without_liveness{interface="eth0",${agent}}`, 1)],
  HeraldL2Stalls: [growing(`herald_l2_stalls_total{${agent}}`, 1)],
  HeraldL2FramesDropped: [growing(`herald_l2_kernel_drops_total{interface="eth0",${agent}}`, 600)],
  HeraldRoutesNotPossible: [always(`herald_bgp_prefixes_not_possible{peer="tor9",${agent}}`, 2)],
  HeraldServicesPending: [always(`herald_pending_services{reason="NoPoolFits",${controller}}`, 1)],
  HeraldPoolFull: [
    always(`herald_pool_size_addresses{pool="busy",family="ipv4",${controller}}`, 16),
    always(`herald_pool_addresses{pool="busy",family="ipv4",state="free",${controller}}`, 0),
  ],
  HeraldPoolNearlyFull: [
    always(`herald_pool_size_addresses{pool="tight",family="ipv4",${controller}}`, 16),
    always(`herald_pool_addresses{pool="tight",family="ipv4",state="free",${controller}}`, 1),
  ],
  HeraldDataplaneFailing: [always(`herald_dataplane_up{${agent}}`, 0)],
  HeraldFrontendsRefused: [always(`herald_dataplane_quarantined_frontends{why="refused",${agent}}`, 1)],
  HeraldRulesChangedByOthers: [growing(`herald_dataplane_repairs_total{${agent}}`, 1)],
  HeraldServicesDiffer: [always(`herald_differing_services{aspect="Announced",reason="NotProgrammed",${agent}}`, 1)],
  HeraldHostProblem: [always(`herald_host_problems{reason="KernelSettingWrong",${agent}}`, 1)],
  HeraldConntrackNearlyFull: [always(`herald_host_problems{reason="ConntrackNearlyFull",${agent}}`, 1)],
  HeraldChangesSlow: [
    growing(`herald_change_to_rule_duration_seconds_bucket{le="6.5536",kind="Service",${agent}}`, 0),
    growing(`herald_change_to_rule_duration_seconds_bucket{le="13.1072",kind="Service",${agent}}`, 5),
    growing(`herald_change_to_rule_duration_seconds_bucket{le="+Inf",kind="Service",${agent}}`, 5),
  ],
  HeraldNothingHeard: [always(`herald_watch_last_heard_timestamp_seconds{resource="services",${agent}}`, 60)],
  HeraldObjectsInvalid: [always(`herald_source_problems{severity="error",${controller}}`, 1)],
  HeraldReconcileFailing: [growing(`herald_queue_work_total{queue="services",result="failed",${controller}}`, 2)],
  HeraldWorkStuck: [growing(`herald_queue_longest_work_seconds{queue="services",${controller}}`, 60)],
  HeraldAWSRefuses: [growing(`herald_aws_requests_total{operation="elbv2:CreateLoadBalancer",code="denied",${controller}}`, 1)],
  HeraldAWSClusterNameTaken: [always(`herald_aws_other_cluster_resources{${controller}}`, 3)],
  HeraldAWSThrottles: [
    growing(`herald_aws_requests_total{operation="elbv2:DescribeTags",code="throttled",${controller}}`, 1),
    growing(`herald_aws_requests_total{operation="elbv2:DescribeTags",code="ok",${controller}}`, 1),
  ],
  HeraldEventLoopBlocked: [always(`nodejs_eventloop_lag_p99_seconds{${agent}}`, 0.8)],
  HeraldSeriesDropped: [growing(`herald_series_dropped_total{metric="herald_events_lost_total",${controller}}`, 1)],
};

/** Further alerts that a fault sets off. */
const implied: Readonly<Record<string, readonly string[]>> = { HeraldNodeWithoutSession: ['HeraldBGPSessionDown'] };

const firing = (alert: string): string => `count(ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0`;

describe('the alerts', () => {
  test('Prometheus accepts the alerts', () => {
    expect(promtool('check')).toContain(`${rules.length} rules found`);
  });

  test('every alert has a fault that must set it off', () => {
    expect(Object.keys(faults).toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  test('no alert fires on the recorded healthy cluster', () => {
    const at = ['30m', '60m', '90m'];
    const expected = at.map((time) => ({ expr: 'ALERTS', at: time, samples: [] }));
    expect(promtool('test', [{ name: 'healthy', input: healthy(), expected }])).toContain('SUCCESS');
  });

  // A run of promtool takes a second: each part has a few faults, and no other alert may fire.
  test.each([0, 1, 2, 3])('every alert fires on its fault, and no other does: part %i', (part) => {
    const chosen = alerts.filter((_, index) => index % 4 === part).map(({ alert }) => alert);
    const fire = new Set(chosen.flatMap((alert) => [alert, ...(implied[alert] ?? [])]));
    const samples = [...fire].toSorted().map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }));
    const input = chosen.reduce((series, alert) => changed(series, faults[alert] ?? []), healthy());
    const expr = 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0';
    expect(promtool('test', [{ name: chosen.join(), input, expected: [{ expr, at: '80m', samples }] }])).toContain('SUCCESS');
  });

  test('the flap alert counts every reason except our own stop and suspension', () => {
    const reasons: readonly FlapReason[] = ['bfdDown', 'lost', 'holdTimerExpired', 'received', 'sent', 'stopped', 'suspended'];
    const input = reasons.map((reason) => growing(`herald_bgp_session_flaps_total{peer="of-${reason}",reason="${reason}",${agent}}`, 1));
    const labels = (reason: string): string => `{peer="of-${reason}"}`;
    const samples = ['bfdDown', 'holdTimerExpired', 'lost', 'received', 'sent'].map((reason) => ({ labels: labels(reason), value: 1 }));
    const expr = 'count by (peer) (ALERTS{alertname="HeraldBGPSessionFlapping",alertstate="firing"})';
    expect(promtool('test', [{ name: 'flaps', input, expected: [{ expr, at: '80m', samples }] }])).toContain('SUCCESS');
  });

  test('promtool reports a wrong expectation', () => {
    const nothing = [{ expr: firing('HeraldAgentDown'), at: '80m', samples: [{ labels: '{}', value: 1 }] }];
    expect(() => promtool('test', [{ name: 'no fault', input: healthy(), expected: nothing }])).toThrow(/FAILED/);
  });

  test('every alert names its severity, its subject and its section of docs/how-to/runbooks.md', () => {
    const page = readFileSync(join(root, 'docs/how-to/runbooks.md'), 'utf8');
    const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, title = '']) => title);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning', 'info']).toContain(labels?.['severity']);
      expect(annotations).toMatchObject({ summary: expect.any(String), description: expect.any(String) });
      expect(annotations?.['runbook_url']).toBe(`${homepage}/docs/how-to/runbooks.md#${alert.toLowerCase()}`);
    }
  });
});

test('the page about production names every critical alert, and no other one', () => {
  const page = readFileSync(join(root, 'docs/how-to/production.md'), 'utf8');
  const named = [...page.matchAll(/\[(Herald\w+)\]\(runbooks\.md/g)].map(([, alert = '']) => alert);
  expect(named.toSorted()).toEqual(
    alerts
      .filter(({ labels }) => labels?.['severity'] === 'critical')
      .map(({ alert }) => alert)
      .toSorted(),
  );
});

describe('references of manifests/monitoring', () => {
  const known = new Set([...Object.keys(allMetrics), ...processFigures()]);
  const named = (text: string): string[] =>
    [...text.matchAll(/\b(?:herald|kubeproxy|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''));

  test.each(['prometheus-rule.yaml', 'dashboard.json'])('every metric that %s names exists', (file) => {
    const names = new Set(named(readFileSync(join(root, 'manifests/monitoring', file), 'utf8')));
    expect(names.size).toBeGreaterThan(15);
    expect([...names].filter((name) => !known.has(name))).toEqual([]);
  });

  test('the dashboard is up to date, and Prometheus understands each of its queries', () => {
    const text = readFileSync(join(root, 'manifests/monitoring/dashboard.json'), 'utf8');
    expect(text).toBe(dashboard());
    const { panels } = JSON.parse(text) as { panels: readonly { targets?: readonly { expr: string }[] }[] };
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(30);
    const written = queries.map((query) => query.replaceAll('$__rate_interval', '5m').replaceAll('$node', '.*'));
    // No series has this value, so a valid query has an answer and an invalid one an error.
    const expected = written.map((expr) => ({ expr: `absent((${expr}) == 1e300) * 0`, at: '30m', samples: [{ labels: '{}', value: 0 }] }));
    promtool('test', [{ name: 'queries', input: healthy(), expected }]);
  });

  test('the dashboard has a table of sessions, and its links lead to sections that exist', () => {
    const text = readFileSync(join(root, 'manifests/monitoring/dashboard.json'), 'utf8');
    const { panels, links, templating } = JSON.parse(text) as {
      panels: readonly {
        title: string;
        type: string;
        targets?: readonly { format?: string }[];
        transformations?: readonly { id: string }[];
      }[];
      links: readonly { url: string }[];
      templating: { list: readonly { name: string }[] };
    };
    const table = panels.find(({ title, type }) => type === 'table' && title === 'Sessions');
    expect(table?.targets?.every(({ format }) => format === 'table')).toBe(true);
    expect(table?.transformations?.map(({ id }) => id)).toEqual(['merge', 'organize']);
    expect(templating.list.map(({ name }) => name)).toContain('docs');
    expect(links.length).toBeGreaterThanOrEqual(3);
    const urls = [...text.matchAll(/"url": "([^"]*)"/g)].map(([, url = '']) => url);
    expect(urls.length).toBeGreaterThan(links.length);
    for (const url of urls) {
      const [, page = '', section] = /^\$\{docs\}\/([^#]+)(?:#(.*))?$/.exec(url) ?? [];
      const headings = readFileSync(join(root, page), 'utf8').matchAll(/^#+ (.*)$/gm);
      const anchors = [...headings].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(' ', '-')
          .replaceAll(/[^\w-]/g, ''),
      );
      if (section !== undefined) expect(anchors).toContain(section);
    }
  });

  test('the recording rules have a value for every documented MetalLB name', () => {
    const records = rules.flatMap(({ record }) => (record === undefined ? [] : [record]));
    expect(records.every((name) => /^(metallb|frrk8s)_/.test(name))).toBe(true);
    const told = metallbMetrics.filter(({ text }) => text.startsWith('A recording rule.')).flatMap(({ name }) => name.split(', '));
    // The name before frr-k8s.
    const now = records.filter((name) => name !== 'metallb_bfd_session_up');
    expect(now.map((name) => `\`${name}\``).toSorted()).toEqual(told.toSorted());
    const bfd = [
      always(`herald_bfd_session_up{peer="tor1-v4",${agent}}`, 1),
      always(`herald_bfd_session_ups_total{peer="tor1-v4",${agent}}`, 1),
      always(`herald_bfd_session_flaps_total{peer="tor1-v4",${agent}}`, 0),
      always(`herald_bfd_packets_total{peer="tor1-v4",direction="sent",${agent}}`, 9),
      always(`herald_bfd_packets_total{peer="tor1-v4",direction="received",${agent}}`, 9),
    ];
    promtool('test', [
      {
        name: 'names of MetalLB',
        input: changed(healthy(), bfd),
        expected: records.map((record) => ({ expr: `count(${record}) > bool 0`, at: '30m', samples: [{ labels: '{}', value: 1 }] })),
      },
    ]);
  });
});

function processFigures(): string[] {
  const metrics = new Metrics();
  registerProcessMetrics(metrics, new VirtualClock());
  return registeredMetrics(metrics).map(({ name }) => name);
}
