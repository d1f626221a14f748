import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import { AwsProvider } from '../../../../providers/aws/provider.ts';
import type { GatedPod, PodReader, TargetPod } from '../../../../providers/aws/model/pods.ts';
import type { ServiceMetadata } from '../../../../providers/aws/model/service-metadata.ts';
import type { AwsSettings } from '../../../../providers/aws/model/settings.ts';
import type { Reconciliation } from '../../../../src/controller/provider.ts';
import { serviceKey, type ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { silentLog, type Log } from '../../../../src/system/log.ts';
import { iamPolicy, type IamPolicy } from '../../../../providers/aws/tables/command/iam-policy.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { authorize } from '../moto/fake/iam.ts';
import type { Cloud } from '../../../../providers/aws/cloud/cloud.ts';
import { populate, type World } from '../moto/fake/world.ts';
import { balancerPrefix } from '../../../../providers/aws/annotations/entry.ts';
import { config, metadata, service } from '../../../../test/unit/decisions/fixtures.ts';
import { node, settings, type AwsServiceLiteral } from './stack-fixture.ts';

addBuiltInProviders();

/** A cluster, its Services and AWS, with the provider between them. Time passes only in `run`. */
export class ProviderFixture {
  readonly cloud: FakeCloud;
  /** What the provider calls: `cloud` with the IAM policy of its cluster. A test may replace it, and restarts the provider then. */
  connected: Cloud;
  /** Like the production snapshot, this is no plain object. */
  readonly snapshot = new Store(config({ defaultClass: false }));
  /** Writes of finalizers, in order: "+default/web", "-default/web". */
  readonly finalizers: string[] = [];
  readonly results = new Map<ServiceKey, Reconciliation>();
  readonly repairs: string[] = [];
  /** Warnings in the log. */
  readonly warnings: { readonly message: string; readonly [field: string]: unknown }[] = [];
  /** Errors in the log. */
  readonly logged: { readonly message: string; readonly [field: string]: unknown }[] = [];
  /** Counts of resources of other clusters, as metrics show them. */
  readonly counts: number[] = [];
  settings: AwsSettings = { ...settings, retireSeconds: 60, orphanSeconds: 3600 };
  /** The Pods of the cluster by "namespace/name", or the error of reading one. */
  readonly pods = new Map<string, TargetPod | Error>();
  /** Pods that were read, by "namespace/name". */
  readonly podReads: string[] = [];
  readonly openedGates: string[] = [];
  provider: AwsProvider;

  readonly #comparesPods: boolean;
  readonly #isDirectory: boolean;

  /**
   * `comparesPods`: false as in a directory, where there are no Pods. `isDirectory`: Services cannot be written to. `clusterUid`: absent as in a directory. `account`: that of another fixture, for two
   * clusters in one account.
   */
  constructor({
    comparesPods = false,
    isDirectory = false,
    clusterUid,
    account,
  }: { comparesPods?: boolean; isDirectory?: boolean; clusterUid?: string; account?: World } = {}) {
    this.#comparesPods = comparesPods;
    this.#isDirectory = isDirectory;
    this.cloud = new FakeCloud(account);
    this.connected = withPolicy(this.cloud, () => this.settings.clusterName);
    if (account === undefined) populate(this.cloud.world);
    if (clusterUid !== undefined) this.snapshot.upsert({ kind: 'Namespace', metadata: { ...metadata('kube-system'), uid: clusterUid } });
    for (const index of [0, 1, 2]) this.snapshot.upsert(node(index));
    this.provider = this.#newProvider();
  }

  get services(): Map<ServiceKey, Service> {
    return this.snapshot.services;
  }

  /** Replaces the provider by a new one without memory. */
  restart(): void {
    this.provider = this.#newProvider();
  }

  #newProvider(): AwsProvider {
    const set = (key: ServiceKey, add: boolean): Promise<void> => {
      const known = this.services.get(key);
      const before = known?.metadata.finalizers ?? [];
      if (before.includes('herald.dev/aws') !== add) {
        this.finalizers.push(`${add ? '+' : '-'}${key} after ${this.cloud.writes.length} writes`);
        const finalizers = add ? [...before, 'herald.dev/aws'] : before.filter((name) => name !== 'herald.dev/aws');
        if (known !== undefined) this.snapshot.upsert({ ...known, metadata: { ...known.metadata, finalizers } });
      }
      // A deleted Service is gone when it has no finalizer.
      if (!add && known?.metadata.deleting === true) this.services.delete(key);
      return Promise.resolve();
    };
    const writer: ServiceMetadata = {
      addFinalizer: (key) => set(key, true),
      removeFinalizer: (key) => set(key, false),
      annotate: (key, wanted) => {
        const known = this.services.get(key);
        const entries = Object.entries({ ...known?.metadata.annotations, ...wanted }).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value] as const],
        );
        if (known !== undefined)
          this.snapshot.upsert({ ...known, metadata: { ...known.metadata, annotations: Object.fromEntries(entries) } });
        return Promise.resolve(true);
      },
    };
    const connect = (): Promise<{ cloud: Cloud; settings: AwsSettings }> =>
      Promise.resolve({ cloud: this.connected, settings: this.settings });
    const log: Log = {
      ...silentLog,
      warn: (fields, message) => void this.warnings.push({ ...fields, message }),
      error: (fields, message) => void this.logged.push({ ...fields, message }),
    };
    const { clock } = this.cloud.world;
    const pods: PodReader = {
      read: async (namespace, name) => this.#readPod(`${namespace}/${name}`),
      openGate: async (pod) => this.openGate(pod),
    };
    const observer = { countedOfOtherClusters: (count: number) => void this.counts.push(count) };
    const components = { classless: 'off', connect, clock, random: () => 0, log, observer } as const;
    const metadata = this.#isDirectory ? {} : { metadata: writer };
    const provider = new AwsProvider({ ...components, ...metadata, ...(this.#comparesPods ? { pods } : {}) });
    provider.adopt(this.snapshot, new Map());
    return provider;
  }

  /** Opens a gate as the API server does. Tests replace it. */
  openGate = ({ namespace, name, gate }: GatedPod): void => {
    const pod = this.pods.get(`${namespace}/${name}`);
    if (pod === undefined || pod instanceof Error) return;
    this.openedGates.push(`${namespace}/${name} ${gate}`);
    this.pods.set(`${namespace}/${name}`, { ...pod, unmetGates: (pod.unmetGates ?? []).filter((one) => one !== gate) });
  };

  #readPod(key: string): TargetPod | undefined {
    this.podReads.push(key);
    const pod = this.pods.get(key);
    if (pod instanceof Error) throw pod;
    return pod;
  }

  apply({ annotations = {}, createdAt = '', ...literal }: AwsServiceLiteral): ServiceKey {
    const plain = service({ loadBalancerClass: 'herald.dev/aws', ...literal });
    const key = serviceKey(plain.metadata);
    const written = Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [name.includes('/') ? name : `${balancerPrefix}${name}`, value]),
    );
    const known = this.services.get(key);
    const finalizers = known?.metadata.finalizers ?? [];
    const metadata = { ...plain.metadata, annotations: written, creationTimestamp: createdAt, finalizers };
    this.snapshot.upsert({ ...plain, metadata, ingress: known?.ingress ?? [] });
    return key;
  }

  delete(key: ServiceKey): void {
    const known = this.services.get(key);
    if (known === undefined) return;
    if ((known.metadata.finalizers ?? []).length === 0) this.services.delete(key);
    else this.snapshot.upsert({ ...known, metadata: { ...known.metadata, deleting: true } });
  }

  /** Runs the controller's loop for so many seconds: changed Services first, then those that are due. */
  async run(seconds: number): Promise<void> {
    for (const key of this.services.keys().toArray()) await this.#reconcile(key);
    for (let passed = 0; passed < seconds; passed += 10) {
      this.cloud.world.clock.advance(10_000);
      for (const key of this.provider.runDue(this.cloud.world.clock.date().getTime())) await this.#reconcile(key);
      // Lets background work run until it waits for something else than an answer of the fake.
      await new Promise(setImmediate);
    }
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    const found = this.services.get(key);
    if (found === undefined || !this.provider.claim(found, this.snapshot).mine) {
      this.results.delete(key);
      await this.provider.release(key, this.snapshot);
      return;
    }
    const result = await this.provider.reconcile(found, this.snapshot);
    this.results.set(key, result);
    this.repairs.push(...(result.repaired ?? []));
    const now = this.services.get(key);
    if (now !== undefined) this.snapshot.upsert({ ...now, ingress: result.ingress });
  }
}

/** Refuses what the IAM policy of the cluster does not allow. A test that calls `cloud` itself has all rights. */
function withPolicy(cloud: FakeCloud, clusterName: () => string): Cloud {
  const policies = new Map<string, IamPolicy>();
  return {
    call: async (operation, input) => {
      const name = clusterName();
      const policy = policies.get(name) ?? iamPolicy(name);
      policies.set(name, policy);
      authorize(policy, cloud.world, operation, input);
      return cloud.call(operation, input);
    },
  };
}
