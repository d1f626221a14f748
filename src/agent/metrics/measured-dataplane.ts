import type { ApplyResult, Dataplane, DataplaneError, ForwardingChanges } from '../../dataplane/dataplane.ts';
import type { DirectReturnLacks } from '../../dataplane/direct-return/direct-return.ts';
import type { Address } from '../../net/address.ts';
import type { NodeForwarding, ServiceForwarding } from '../../net/frontend.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { ipFamilies } from './ip-families.ts';
import { WithoutLocalEndpoints } from './without-local.ts';

type Call = 'replace' | 'node' | 'apply';

/** A data plane whose calls are counted and timed. */
export class MeasuredDataplane implements Dataplane {
  readonly #inner: Dataplane;
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #withoutLocal = new WithoutLocalEndpoints();

  constructor(inner: Dataplane, metrics: Metrics, clock: Clock) {
    this.#inner = inner;
    this.#metrics = metrics;
    this.#clock = clock;
    metrics.describe('herald_dataplane_repairs_total', 'herald_dataplane_failures_total');
    for (const ip_family of ipFamilies) metrics.add('kubeproxy_sync_proxy_rules_nftables_sync_failures_total', { ip_family }, 0);
    metrics.part('without local', ['kubeproxy_sync_proxy_rules_no_local_endpoints_total'], (put) =>
      this.#withoutLocal.each((traffic_policy, ip_family, count) =>
        put('kubeproxy_sync_proxy_rules_no_local_endpoints_total', { traffic_policy, ip_family }, count),
      ),
    );
    inner.onRepair(() => metrics.add('herald_dataplane_repairs_total', {}));
    inner.onFailure(() => this.#failed());
  }

  get adopted(): boolean {
    return this.#inner.adopted;
  }

  async replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    const result = await this.#measured('replace', () => this.#inner.replace(node, services));
    this.#withoutLocal.replace(services);
    return result;
  }

  setNode(node: NodeForwarding): Promise<ApplyResult> {
    return this.#measured('node', () => this.#inner.setNode(node));
  }

  async apply(changes: ForwardingChanges): Promise<ApplyResult> {
    const result = await this.#measured('apply', () => this.#inner.apply(changes));
    this.#withoutLocal.apply(changes);
    return result;
  }

  clear(): Promise<void> {
    return this.#inner.clear();
  }

  setUnreachable(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.#inner.setUnreachable(prefixes);
  }

  probeDirectReturn(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnLacks> {
    return this.#inner.probeDirectReturn(interfaces, tunnels);
  }

  onRepair(listener: (what: string) => void): void {
    this.#inner.onRepair(listener);
  }

  onFailure(listener: (error: DataplaneError) => void): void {
    this.#inner.onFailure(listener);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  cleanup(): Promise<void> {
    return this.#inner.cleanup();
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
