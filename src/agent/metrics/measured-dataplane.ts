import type { ApplyResult, Dataplane, ForwardingChanges } from '../../dataplane/dataplane.ts';
import { DataplaneLayer } from '../../dataplane/dataplane-layer.ts';
import type { NodeForwarding, ServiceForwarding } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { ipFamilies, WithoutLocalEndpoints } from './no-local-endpoints.ts';

type Call = 'replace' | 'node' | 'apply';

/** Counts and times the calls of a data plane. */
export class MeasuredDataplane extends DataplaneLayer {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #withoutLocal = new WithoutLocalEndpoints();

  constructor(inner: Dataplane, metrics: Metrics, clock: Clock) {
    super(inner);
    this.#metrics = metrics;
    this.#clock = clock;
    metrics.describe('herald_dataplane_repairs_total', 'herald_dataplane_failures_total');
    for (const ip_family of ipFamilies) metrics.add('kubeproxy_sync_proxy_rules_nftables_sync_failures_total', { ip_family }, 0);
    metrics.addCollector('without local', ['kubeproxy_sync_proxy_rules_no_local_endpoints_total'], (put) =>
      this.#withoutLocal.each((traffic_policy, ip_family, count) =>
        put('kubeproxy_sync_proxy_rules_no_local_endpoints_total', { traffic_policy, ip_family }, count),
      ),
    );
    inner.onRepair(() => metrics.add('herald_dataplane_repairs_total', {}));
    inner.onFailure(() => this.#failed());
  }

  override async replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    const result = await this.#measured('replace', () => super.replace(node, services));
    this.#withoutLocal.replace(services);
    return result;
  }

  override setNode(node: NodeForwarding): Promise<ApplyResult> {
    return this.#measured('node', () => super.setNode(node));
  }

  override async apply(changes: ForwardingChanges): Promise<ApplyResult> {
    const result = await this.#measured('apply', () => super.apply(changes));
    this.#withoutLocal.apply(changes);
    return result;
  }

  async #measured(call: Call, work: () => Promise<ApplyResult>): Promise<ApplyResult> {
    const began = this.#clock.now();
    try {
      const result = await work();
      this.#took(call, 'done', began);
      return result;
    } catch (error) {
      this.#took(call, 'failed', began);
      this.#failed();
      throw error;
    }
  }

  #took(call: Call, result: 'done' | 'failed', began: number): void {
    const seconds = (this.#clock.now() - began) / 1000;
    this.#metrics.observe('herald_dataplane_call_duration_seconds', { call, result }, seconds);
    if (result === 'failed') return;
    for (const ip_family of ipFamilies) {
      this.#metrics.observe('kubeproxy_sync_proxy_rules_duration_seconds', { ip_family }, seconds);
      if (call === 'replace') this.#metrics.observe('kubeproxy_sync_full_proxy_rules_duration_seconds', { ip_family }, seconds);
      else this.#metrics.observe('kubeproxy_sync_partial_proxy_rules_duration_seconds', { ip_family }, seconds);
    }
  }

  #failed(): void {
    this.#metrics.add('herald_dataplane_failures_total', {});
    for (const ip_family of ipFamilies) this.#metrics.add('kubeproxy_sync_proxy_rules_nftables_sync_failures_total', { ip_family });
  }
}
