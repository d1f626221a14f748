import type { ServiceKey } from '../../model/objects/metadata.ts';
import { sameContent } from '../../model/store/same-content.ts';
import type { Source } from '../../sources/source.ts';
import type { Clock } from '../../system/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { AgentStatus, AgentObserver, PassObserver } from '../agent-observer.ts';
import type { RoutesByPeer } from '../reconcile/announced-routes.ts';
import { ChangeTimes, type ServiceChange } from './change-times.ts';
import { ipFamilies } from './no-local-endpoints.ts';

interface AgentMetricsComponents {
  readonly metrics: Metrics;
  readonly source: Source;
  readonly clock: Clock;
}

/** Measures how long passes take and how long changes wait for them. */
export class AgentMetrics implements AgentObserver {
  readonly #components: AgentMetricsComponents;
  readonly #times: ChangeTimes;
  readonly #inPass = new Map<ServiceKey, ServiceChange>();
  readonly #ends: (() => void)[] = [];

  /** Construct it before the agent, so that it sees each change first. */
  constructor(components: AgentMetricsComponents) {
    const { metrics, source, clock } = components;
    this.#components = components;
    this.#times = new ChangeTimes(clock);
    metrics.describe(
      'herald_pass_services_total',
      'kubeproxy_sync_proxy_rules_service_changes_total',
      'kubeproxy_sync_proxy_rules_endpoint_changes_total',
    );
    this.#ends.push(
      source.onChange((changes) => {
        const ages = this.#times.recordChanges(changes, source.snapshot);
        for (const age of ages) metrics.observe('herald_change_heard_duration_seconds', {}, age / 1000);
        const count = (kind: string): number => changes.filter((change) => change.kind === kind).length;
        metrics.add('kubeproxy_sync_proxy_rules_service_changes_total', {}, count('Service'));
        metrics.add('kubeproxy_sync_proxy_rules_endpoint_changes_total', {}, count('EndpointSlice'));
        for (const ip_family of ipFamilies)
          metrics.set('kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds', { ip_family }, seconds(clock));
      }),
      metrics.addCollector(
        'pending',
        ['kubeproxy_sync_proxy_rules_service_changes_pending', 'kubeproxy_sync_proxy_rules_endpoint_changes_pending'],
        (put) => {
          const pending = [...this.#times.waiting.values(), ...this.#inPass.values()];
          const count = (kind: 'Service' | 'EndpointSlice'): number => pending.filter(({ since }) => since.has(kind)).length;
          put('kubeproxy_sync_proxy_rules_service_changes_pending', {}, count('Service'));
          put('kubeproxy_sync_proxy_rules_endpoint_changes_pending', {}, count('EndpointSlice'));
        },
      ),
    );
  }

  /** Exposes the agent's current state as metrics. */
  expose(status: () => AgentStatus): void {
    const { metrics } = this.#components;
    this.#ends.push(
      metrics.addCollector(
        'agent',
        [
          'herald_waiting_services',
          'herald_differing_services',
          'herald_host_problems',
          'herald_node_held_back',
          'herald_held_back_last_next_hop_services',
          'herald_dataplane_up',
          'herald_dataplane_quarantined_frontends',
          'herald_agent_check_seconds_total',
          'herald_agent_failing_endpoints',
          'herald_agent_answered_frontends',
          'herald_agent_checks_blind',
        ],
        (put) => {
          const { waiting, differing, host, heldBack, heldBackLastNextHops, dataplaneError, hasSynced, quarantined, checks } = status();
          put('herald_waiting_services', {}, waiting);
          put('herald_dataplane_up', {}, hasSynced && dataplaneError === undefined ? 1 : 0);
          for (const [aspect, some] of Map.groupBy(differing, (one) => one.aspect))
            for (const [reason, same] of Map.groupBy(some, (one) => one.reason.code))
              put('herald_differing_services', { aspect, reason }, new Set(same.map(({ service }) => service)).size);
          for (const [reason, same] of Map.groupBy(host, ({ code }) => code)) put('herald_host_problems', { reason }, same.length);
          for (const family of ipFamilies) {
            const isHeld = heldBack.some((held) => held.family === family && held.settled);
            put('herald_node_held_back', { family: family.toLowerCase() }, isHeld ? 1 : 0);
          }
          put('herald_held_back_last_next_hop_services', {}, heldBackLastNextHops);
          const contended = [...quarantined.values()].filter(({ owner }) => owner !== undefined).length;
          put('herald_dataplane_quarantined_frontends', { why: 'contended' }, contended);
          put('herald_dataplane_quarantined_frontends', { why: 'refused' }, quarantined.size - contended);
          put('herald_agent_check_seconds_total', {}, checks.seconds);
          put('herald_agent_failing_endpoints', {}, checks.failingEndpoints);
          put('herald_agent_answered_frontends', {}, checks.answeredFrontends);
          put('herald_agent_checks_blind', {}, checks.isBlind ? 1 : 0);
        },
      ),
    );
  }

  pass(services: ReadonlySet<ServiceKey>, routesOf: (service: ServiceKey) => RoutesByPeer): PassObserver {
    const { metrics, clock } = this.#components;
    const began = clock.now();
    const taken = this.#times.take(services);
    for (const [service, change] of taken) this.#inPass.set(service, change);
    const routes = new Map([...taken.keys()].map((service) => [service, routesOf(service)]));
    const altered = new Set<ServiceKey>();
    let isAnnounced = false;
    const compareRoutes = (): void => {
      for (const [service, before] of routes) {
        const now = routesOf(service);
        if (sameRoutes(before, now)) continue;
        altered.add(service);
        routes.set(service, now);
      }
    };
    /** The speaker sends messages in the next turn of the event loop: see Outbox of src/bgp. */
    const sent = (services: ReadonlySet<ServiceKey>): void => {
      if (services.size > 0) clock.after(0, () => this.#observeRoutes([...services].flatMap((service) => taken.get(service) ?? [])));
    };
    return {
      withdrawn: compareRoutes,
      committed: () => {
        for (const change of taken.values()) this.#observeRule(change);
        for (const ip_family of ipFamilies) metrics.set('kubeproxy_sync_proxy_rules_last_timestamp_seconds', { ip_family }, seconds(clock));
      },
      announced: () => {
        compareRoutes();
        isAnnounced = true;
        sent(altered);
      },
      ended: () => {
        for (const service of taken.keys()) this.#inPass.delete(service);
        if (!isAnnounced) this.#times.restore(taken);
        metrics.add('herald_pass_services_total', {}, services.size);
        const result = isAnnounced ? 'done' : 'failed';
        metrics.observe('herald_pass_duration_seconds', { result }, (clock.now() - began) / 1000);
      },
    };
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #observeRule(change: ServiceChange): void {
    const { metrics, clock } = this.#components;
    if (change.isCommitted) return;
    change.isCommitted = true;
    const now = clock.now();
    for (const [kind, since] of change.since) metrics.observe('herald_change_to_rule_duration_seconds', { kind }, (now - since) / 1000);
    for (const [family, since] of change.triggered)
      metrics.observe('kubeproxy_network_programming_duration_seconds', { ip_family: `IPv${family}` }, (now - since) / 1000);
  }

  #observeRoutes(changes: readonly ServiceChange[]): void {
    const { metrics, clock } = this.#components;
    const now = clock.now();
    for (const { since } of changes)
      for (const [kind, began] of since) metrics.observe('herald_change_to_route_duration_seconds', { kind }, (now - began) / 1000);
  }
}

function sameRoutes(a: RoutesByPeer, b: RoutesByPeer): boolean {
  return a === b || sameContent(Object.fromEntries(a), Object.fromEntries(b));
}

function seconds(clock: Clock): number {
  return clock.date().getTime() / 1000;
}
