import assert from 'node:assert';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { providerTables } from '../../model/provider-tables.ts';
import { isKnownCode, reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import type { Service } from '../../model/objects/service.ts';
import { missingMethods, type Claim, type Reconciliation } from '../provider-module.ts';
import { partMethods, partNames, type OptionalParts, type PartName } from '../provider-parts.ts';
import type { InMemoryCluster } from './in-memory-cluster.ts';
import type { ProviderSubject } from './subject.ts';

interface Check {
  /** The rule that a correct provider keeps. */
  readonly name: string;
  /** The feature of the subject's world that the check needs; without it the check is left out. */
  readonly needs?: 'resources' | 'fail';
  /** The optional part that is checked; without it the check is left out. */
  readonly part?: PartName;
  /** Rejects with AssertionError when the provider breaks the rule. */
  readonly run: (cluster: InMemoryCluster, subject: ProviderSubject) => Promise<void>;
}

const strangers = ['ClusterIP', 'NodePort'] as const;

export const checks: readonly Check[] = [
  {
    name: 'the provider has exactly the optional parts that its subject names, each completely',
    async run(cluster, { parts = [] }) {
      const provider = await cluster.makeProvider();
      assert.deepStrictEqual(missingMethods(provider), [], 'it lacks methods');
      const has = partNames.filter((part) => partMethods[part].every((method: keyof OptionalParts) => provider[method] !== undefined));
      assert.deepStrictEqual(has.toSorted(), parts.toSorted(), 'the subject names other parts');
    },
  },
  {
    name: 'claim returns the same result each time and changes nothing',
    async run(cluster) {
      const provider = await cluster.makeProvider();
      const before = [structuredClone(cluster.served), structuredClone(cluster.snapshot.config), cluster.resources] as const;
      const claims = [1, 2, 3].map(() => provider.claim(cluster.served, cluster.snapshot));
      for (const claim of claims) {
        assert(claim.mine, 'it does not claim the Service of the subject each time');
        assert.deepStrictEqual(claim, claims[0], 'the next result differs');
      }
      assert.deepStrictEqual([cluster.served, cluster.snapshot.config, cluster.resources], before, 'claim changed something');
    },
  },
  {
    name: 'claim refuses other Service types and other classes, with a reason of the catalogue',
    async run(cluster) {
      const provider = await cluster.makeProvider();
      const { served, snapshot } = cluster;
      const others: Service[] = [
        ...strangers.map((type) => ({ ...served, type })),
        { ...served, loadBalancerClass: 'example.com/of-nobody' },
        { ...served, headless: true },
      ];
      for (const service of others) {
        const claim = provider.claim(service, snapshot);
        assert(!claim.mine, `it claims ${describe(service)}`);
        assert(isKnownCode(claim.reason.code), `"${claim.reason.code}" is not a code of the catalogue`);
      }
    },
  },
  {
    name: 'no other provider claims a Service that it claims',
    async run(cluster, { beside = [] }) {
      const provider = await cluster.makeProvider();
      const { served, snapshot } = cluster;
      const pools = { name: 'bare-metal', claim: (service: Service): Claim => decideAllocationClaim(service, snapshot.config) };
      const all = [provider, ...[pools, ...beside].filter(({ name }) => name !== provider.name)];
      const classes = [
        undefined,
        served.loadBalancerClass,
        snapshot.config.loadBalancerClass,
        ...shippedClasses(),
        'example.com/of-nobody',
      ];
      for (const loadBalancerClass of classes) {
        const { loadBalancerClass: _, ...rest } = served;
        const service = loadBalancerClass === undefined ? rest : { ...rest, loadBalancerClass };
        const mine = all.filter(({ claim }) => claim.call(provider, service, snapshot).mine);
        assert(mine.length < 2, `${describe(service)} is claimed by ${mine.map(({ name }) => name).join(' and ')}`);
      }
    },
  },
  {
    name: 'reconcile gives the Service its ingress, and a second call changes nothing',
    async run(cluster) {
      await startServing(cluster);
      const [ingress, resources] = [cluster.ingress, cluster.resources];
      await cluster.apply({ metadata: { labels: { touched: 'yes' } } });
      await cluster.advance(600);
      assert.deepStrictEqual([cluster.ingress, cluster.resources], [ingress, resources], 'the second call changed something');
    },
  },
  {
    name: 'a restart of the process changes nothing',
    async run(cluster) {
      await startServing(cluster);
      const [ingress, resources] = [cluster.ingress, cluster.resources];
      await cluster.start();
      await cluster.advance(600);
      assert.deepStrictEqual([cluster.ingress, cluster.resources], [ingress, resources], 'the restart changed something');
    },
  },
  {
    name: 'holds is true for the served Service and false for an unknown one',
    part: 'ResourceHolder',
    async run(cluster) {
      await startServing(cluster);
      assert(cluster.part('holds')(cluster.key, cluster.served), 'holds is false for the Service that it serves');
      assert(!cluster.part('holds')('elsewhere/unknown', undefined), 'holds is true for an unknown Service');
    },
  },
  {
    name: 'a deleted Service goes and leaves no resource',
    async run(cluster) {
      await startServing(cluster);
      await cluster.delete();
      await gone(cluster);
    },
  },
  {
    name: 'a Service that stops being a load balancer leaves no address and no resource',
    async run(cluster) {
      await startServing(cluster);
      await cluster.apply({ spec: { type: 'NodePort', loadBalancerClass: undefined } });
      await cluster.until('no resource remains', () => cluster.ingress.length === 0 && cluster.resources.length === 0 && !holds(cluster));
      assert.deepStrictEqual(cluster.served.metadata.finalizers ?? [], [], 'a finalizer remains');
    },
  },
  {
    name: 'a Service that was deleted while no process ran goes after the start',
    needs: 'resources',
    async run(cluster) {
      await startServing(cluster);
      await cluster.stop();
      await cluster.delete();
      await cluster.start();
      await gone(cluster);
    },
  },
  {
    name: 'a Service that stopped being a load balancer while no process ran leaves no resource after the start',
    needs: 'resources',
    async run(cluster) {
      await startServing(cluster);
      await cluster.stop();
      await cluster.apply({ spec: { type: 'NodePort', loadBalancerClass: undefined } });
      await cluster.start();
      await cluster.until(
        'no resource remains',
        () => cluster.resources.length === 0 && (cluster.served.metadata.finalizers ?? []).length === 0,
      );
    },
  },
  {
    name: 'release of an unknown Service succeeds',
    async run(cluster) {
      await cluster.start();
      const { addresses = [], requeue = [], remaining } = await cluster.provider.release('elsewhere/unknown', cluster.snapshot, 0);
      assert.deepStrictEqual([[...addresses], [...requeue], remaining], [[], [], undefined]);
    },
  },
  {
    name: 'affected returns no Service when nothing has changed',
    part: 'ChangeListener',
    async run(cluster) {
      await startServing(cluster);
      assert.deepStrictEqual([...cluster.part('affected')([], cluster.snapshot)], []);
    },
  },
  {
    name: 'runDue returns no Service before one was reconciled',
    part: 'PeriodicWork',
    async run(cluster) {
      await cluster.start();
      assert.deepStrictEqual([...cluster.part('runDue')(cluster.clock.date().getTime())], []);
    },
  },
  {
    name: 'disown and statusWritten of an unknown Service do nothing',
    part: 'AddressPools',
    async run(cluster) {
      await cluster.start();
      cluster.part('disown')('elsewhere/unknown');
      assert.deepStrictEqual([...cluster.part('statusWritten')('elsewhere/unknown')], []);
    },
  },
  {
    name: 'a disowned Service keeps its address assigned until release',
    part: 'AddressPools',
    async run(cluster) {
      await cluster.start();
      const before = assigned(cluster);
      await given(cluster);
      const during = assigned(cluster);
      assert(during > before, 'usage does not count the address of the Service');
      cluster.part('disown')(cluster.key);
      assert.equal(assigned(cluster), during, 'disown freed the address');
      const { addresses = [] } = await cluster.provider.release(cluster.key, cluster.snapshot, cluster.clock.date().getTime());
      assert.deepStrictEqual(addresses.map(formatAddress), cluster.ingress, 'release does not return what the Service had');
      assert.equal(assigned(cluster), before, 'usage counts an address that was released');
    },
  },
  {
    name: 'a Service gets no address but the reason while allocation is suspended',
    part: 'AddressPools',
    async run(cluster) {
      await cluster.makeProvider();
      cluster.part('adopt')(cluster.snapshot, new Map(), new Map());
      const why = reason('RecordUnreadable', { file: 'web.yaml' });
      cluster.part('suspendAllocation')(why);
      const suspended = await cluster.provider.reconcile(cluster.served, cluster.snapshot);
      assert.deepStrictEqual([suspended.ingress, suspended.reason], [[], why]);
      cluster.part('suspendAllocation')(undefined);
      const { ingress } = await cluster.provider.reconcile(cluster.served, cluster.snapshot);
      assert.notDeepStrictEqual(ingress, [], 'the Service gets no address after allocation was resumed');
    },
  },
  {
    name: 'preview changes nothing, lists the calls to make, and lists none afterwards',
    part: 'Previewable',
    async run(cluster) {
      await cluster.makeProvider();
      const proposed = await cluster.part('preview')(cluster.key, cluster.snapshotWithService());
      assert.notDeepStrictEqual(proposed.actions, [], 'preview lists no call');
      assert.deepStrictEqual(cluster.resources, [], 'preview created something');
      await startServing(cluster);
      const { resources } = cluster;
      const { actions } = await cluster.part('preview')(cluster.key, cluster.snapshot);
      assert.deepStrictEqual([actions, cluster.resources], [[], resources], 'preview lists a call for a finished Service, or made one');
    },
  },
  {
    name: 'an outside failure becomes a reason or an error with a code',
    needs: 'fail',
    async run(cluster) {
      await cluster.start();
      cluster.world.fail?.();
      await cluster.apply();
      const answer = await cluster.provider.reconcile(cluster.served, cluster.snapshot).catch((error: unknown) => error);
      if (answer instanceof Error) {
        const { code } = answer as { readonly code?: unknown };
        assert.equal(typeof code, 'string', `"${answer.message}" has no code`);
      } else {
        const { reason } = answer as Reconciliation;
        assert(reason !== undefined && isKnownCode(reason.code), 'the result has no reason');
      }
    },
  },
  {
    name: 'a Service keeps its ingress while the outside fails, and is retried',
    needs: 'fail',
    async run(cluster) {
      const repair = cluster.world.fail?.();
      await cluster.start();
      await cluster.apply();
      await cluster.advance(60);
      assert.deepStrictEqual(cluster.ingress, [], 'the Service has an address although the outside does not answer');
      repair?.();
      await cluster.until('a retry gives the Service its ingress', () => cluster.ingress.length > 0);
      const { ingress } = cluster;
      const repairAgain = cluster.world.fail?.();
      await cluster.apply({ metadata: { labels: { touched: 'yes' } } });
      await cluster.advance(600);
      assert.deepStrictEqual(cluster.ingress, ingress, 'the Service lost its ingress');
      repairAgain?.();
      await cluster.advance(600);
      assert.deepStrictEqual(cluster.ingress, ingress, 'the Service lost its ingress');
    },
  },
  {
    name: 'a deletion that the outside refused is retried and not treated as done',
    needs: 'fail',
    async run(cluster, { withoutMetadata }) {
      await startServing(cluster);
      const repair = cluster.world.fail?.();
      await cluster.delete();
      await cluster.advance(60);
      assert.notDeepStrictEqual(cluster.resources, [], 'the outside did not fail');
      if (withoutMetadata !== true) assert(cluster.snapshot.services.has(cluster.key), 'the Service is gone while resources remain');
      repair?.();
      await gone(cluster);
    },
  },
];

async function startServing(cluster: InMemoryCluster): Promise<void> {
  await cluster.start();
  await given(cluster);
}

async function given(cluster: InMemoryCluster): Promise<void> {
  await cluster.apply();
  await cluster.until('the Service has its ingress', () => cluster.ingress.length > 0);
  // Waits for operations that are still in progress outside the cluster.
  await cluster.advance(600);
}

async function gone(cluster: InMemoryCluster): Promise<void> {
  await cluster.until(
    'the Service is gone and no resource remains',
    () => !cluster.snapshot.services.has(cluster.key) && cluster.resources.length === 0 && !holds(cluster),
  );
}

function holds({ provider, key, snapshot }: InMemoryCluster): boolean {
  return provider.holds?.(key, snapshot.services.get(key)) === true;
}

/** Returns the number of assigned addresses of all pools. */
function assigned(cluster: InMemoryCluster): number {
  return cluster
    .part('usage')()
    .reduce((sum, usage) => sum + usage.assigned, 0);
}

function describe({ metadata, type, headless, loadBalancerClass = 'none' }: Service): string {
  return `${serviceKey(metadata)} of ${headless ? 'headless ' : ''}type ${type} and class ${loadBalancerClass}`;
}

/** Returns the classes of the providers that ship with Herald, where they are loaded, and one like theirs. */
function shippedClasses(): readonly string[] {
  return ['herald.dev/cloud', ...providerTables().flatMap(({ shipped, classes = [] }) => (shipped === true ? classes : []))];
}
