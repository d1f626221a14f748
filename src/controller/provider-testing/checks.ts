import assert from 'node:assert';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { catalogue, reason } from '../../model/reasons.ts';
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
  readonly needs?: 'left' | 'fail';
  /** The optional part that is checked; without it the check is left out. */
  readonly part?: PartName;
  /** Rejects with AssertionError when the provider breaks the rule. */
  readonly run: (bed: InMemoryCluster, subject: ProviderSubject) => Promise<void>;
}

const strangers = ['ClusterIP', 'NodePort'] as const;

export const checks: readonly Check[] = [
  {
    name: 'the provider has exactly the optional parts that its subject names, each completely',
    async run(bed, { parts = [] }) {
      const provider = await bed.makeProvider();
      assert.deepStrictEqual(missingMethods(provider), [], 'it lacks methods');
      const has = partNames.filter((part) => partMethods[part].every((method: keyof OptionalParts) => provider[method] !== undefined));
      assert.deepStrictEqual(has.toSorted(), parts.toSorted(), 'the subject names other parts');
    },
  },
  {
    name: 'claim returns the same result each time and changes nothing',
    async run(bed) {
      const provider = await bed.makeProvider();
      const before = [structuredClone(bed.served), structuredClone(bed.snapshot.config), bed.resources] as const;
      const claims = [1, 2, 3].map(() => provider.claim(bed.served, bed.snapshot));
      for (const claim of claims) {
        assert(claim.mine, 'it does not claim the Service of the subject each time');
        assert.deepStrictEqual(claim, claims[0], 'the next result differs');
      }
      assert.deepStrictEqual([bed.served, bed.snapshot.config, bed.resources], before, 'claim changed something');
    },
  },
  {
    name: 'claim refuses other Service types and other classes, with a reason of the catalogue',
    async run(bed) {
      const provider = await bed.makeProvider();
      const { served, snapshot } = bed;
      const others: Service[] = [
        ...strangers.map((type) => ({ ...served, type })),
        { ...served, loadBalancerClass: 'example.com/of-nobody' },
        { ...served, headless: true },
      ];
      for (const service of others) {
        const claim = provider.claim(service, snapshot);
        assert(!claim.mine, `it claims ${describe(service)}`);
        assert(claim.reason.code in catalogue, `"${claim.reason.code}" is not a code of the catalogue`);
      }
    },
  },
  {
    name: 'no other provider claims a Service that it claims',
    async run(bed, { beside = [] }) {
      const provider = await bed.makeProvider();
      const { served, snapshot } = bed;
      const pools = { name: 'bare-metal', claim: (service: Service): Claim => decideAllocationClaim(service, snapshot.config) };
      const all = [provider, ...[pools, ...beside].filter(({ name }) => name !== provider.name)];
      const classes = [undefined, served.loadBalancerClass, snapshot.config.loadBalancerClass, 'herald.dev/aws', 'example.com/of-nobody'];
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
    async run(bed) {
      await bed.start();
      await given(bed);
      const [ingress, left] = [bed.ingress, bed.resources];
      await bed.apply({ metadata: { labels: { touched: 'yes' } } });
      await bed.advance(600);
      assert.deepStrictEqual([bed.ingress, bed.resources], [ingress, left], 'the second call changed something');
    },
  },
  {
    name: 'a restart of the process changes nothing',
    async run(bed) {
      await bed.start();
      await given(bed);
      const [ingress, left] = [bed.ingress, bed.resources];
      await bed.start();
      await bed.advance(600);
      assert.deepStrictEqual([bed.ingress, bed.resources], [ingress, left], 'the restart changed something');
    },
  },
  {
    name: 'holds is true for the served Service and false for an unknown one',
    part: 'ResourceHolder',
    async run(bed) {
      await bed.start();
      await given(bed);
      assert(bed.part('holds')(bed.key, bed.served), 'holds is false for the Service that it serves');
      assert(!bed.part('holds')('elsewhere/unknown', undefined), 'holds is true for an unknown Service');
    },
  },
  {
    name: 'a deleted Service goes and leaves no resource',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.delete();
      await gone(bed);
    },
  },
  {
    name: 'a Service that stops being a load balancer leaves no address and no resource',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.apply({ spec: { type: 'NodePort', loadBalancerClass: undefined } });
      await bed.until('no resource remains', () => bed.ingress.length === 0 && bed.resources.length === 0 && !holds(bed));
      assert.deepStrictEqual(bed.served.metadata.finalizers ?? [], [], 'a finalizer remains');
    },
  },
  {
    name: 'a Service that was deleted while no process ran goes after the start',
    needs: 'left',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.stop();
      await bed.delete();
      await bed.start();
      await gone(bed);
    },
  },
  {
    name: 'a Service that stopped being a load balancer while no process ran leaves no resource after the start',
    needs: 'left',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.stop();
      await bed.apply({ spec: { type: 'NodePort', loadBalancerClass: undefined } });
      await bed.start();
      await bed.until('no resource remains', () => bed.resources.length === 0 && (bed.served.metadata.finalizers ?? []).length === 0);
    },
  },
  {
    name: 'release of an unknown Service succeeds',
    async run(bed) {
      await bed.start();
      const { addresses = [], requeue = [], remaining } = await bed.provider.release('elsewhere/unknown', bed.snapshot, 0);
      assert.deepStrictEqual([[...addresses], [...requeue], remaining], [[], [], undefined]);
    },
  },
  {
    name: 'affected returns no Service when nothing has changed',
    part: 'ChangeListener',
    async run(bed) {
      await bed.start();
      await given(bed);
      assert.deepStrictEqual([...bed.part('affected')([], bed.snapshot)], []);
    },
  },
  {
    name: 'runDue returns no Service before one was reconciled',
    part: 'PeriodicWork',
    async run(bed) {
      await bed.start();
      assert.deepStrictEqual([...bed.part('runDue')(bed.clock.date().getTime())], []);
    },
  },
  {
    name: 'disown and statusWritten of an unknown Service do nothing',
    part: 'AddressPools',
    async run(bed) {
      await bed.start();
      bed.part('disown')('elsewhere/unknown');
      assert.deepStrictEqual([...bed.part('statusWritten')('elsewhere/unknown')], []);
    },
  },
  {
    name: 'a disowned Service keeps its address assigned until release',
    part: 'AddressPools',
    async run(bed) {
      await bed.start();
      const before = assigned(bed);
      await given(bed);
      const during = assigned(bed);
      assert(during > before, 'usage does not count the address of the Service');
      bed.part('disown')(bed.key);
      assert.equal(assigned(bed), during, 'disown freed the address');
      const { addresses = [] } = await bed.provider.release(bed.key, bed.snapshot, bed.clock.date().getTime());
      assert.deepStrictEqual(addresses.map(formatAddress), bed.ingress, 'release does not return what the Service had');
      assert.equal(assigned(bed), before, 'usage counts an address that was released');
    },
  },
  {
    name: 'a Service gets no address but the reason while allocation is suspended',
    part: 'AddressPools',
    async run(bed) {
      await bed.makeProvider();
      bed.part('adopt')(bed.snapshot, new Map(), new Map());
      const why = reason('RecordUnreadable', { file: 'web.yaml' });
      bed.part('suspendAllocation')(why);
      const suspended = await bed.provider.reconcile(bed.served, bed.snapshot);
      assert.deepStrictEqual([suspended.ingress, suspended.reason], [[], why]);
      bed.part('suspendAllocation')(undefined);
      const { ingress } = await bed.provider.reconcile(bed.served, bed.snapshot);
      assert.notDeepStrictEqual(ingress, [], 'the Service gets no address after allocation was resumed');
    },
  },
  {
    name: 'preview changes nothing, lists the calls to make, and lists none afterwards',
    part: 'Previewable',
    async run(bed) {
      await bed.makeProvider();
      const proposed = await bed.part('preview')(bed.key, bed.snapshotWithService());
      assert.notDeepStrictEqual(proposed.actions, [], 'preview lists no call');
      assert.deepStrictEqual(bed.resources, [], 'preview created something');
      await bed.start();
      await given(bed);
      const { resources: left } = bed;
      const { actions } = await bed.part('preview')(bed.key, bed.snapshot);
      assert.deepStrictEqual([actions, bed.resources], [[], left], 'preview lists a call for a finished Service, or made one');
    },
  },
  {
    name: 'an outside failure becomes a reason or an error with a code',
    needs: 'fail',
    async run(bed) {
      await bed.start();
      bed.world.fail?.();
      await bed.apply();
      const answer = await bed.provider.reconcile(bed.served, bed.snapshot).catch((error: unknown) => error);
      if (answer instanceof Error) {
        const { code } = answer as { readonly code?: unknown };
        assert.equal(typeof code, 'string', `"${answer.message}" has no code`);
      } else {
        const { reason } = answer as Reconciliation;
        assert(reason !== undefined && reason.code in catalogue, 'the result has no reason');
      }
    },
  },
  {
    name: 'a Service keeps its ingress while the outside fails, and is retried',
    needs: 'fail',
    async run(bed) {
      const repair = bed.world.fail?.();
      await bed.start();
      await bed.apply();
      await bed.advance(60);
      assert.deepStrictEqual(bed.ingress, [], 'the Service has an address although the outside does not answer');
      repair?.();
      await bed.until('a retry gives the Service its ingress', () => bed.ingress.length > 0);
      const { ingress } = bed;
      const repairAgain = bed.world.fail?.();
      await bed.apply({ metadata: { labels: { touched: 'yes' } } });
      await bed.advance(600);
      assert.deepStrictEqual(bed.ingress, ingress, 'the Service lost its ingress');
      repairAgain?.();
      await bed.advance(600);
      assert.deepStrictEqual(bed.ingress, ingress, 'the Service lost its ingress');
    },
  },
  {
    name: 'a deletion that the outside refused is retried and not treated as done',
    needs: 'fail',
    async run(bed, { withoutMetadata }) {
      await bed.start();
      await given(bed);
      const repair = bed.world.fail?.();
      await bed.delete();
      await bed.advance(60);
      assert.notDeepStrictEqual(bed.resources, [], 'the outside did not fail');
      if (withoutMetadata !== true) assert(bed.snapshot.services.has(bed.key), 'the Service is gone while resources remain');
      repair?.();
      await gone(bed);
    },
  },
];

async function given(bed: InMemoryCluster): Promise<void> {
  await bed.apply();
  await bed.until('the Service has its ingress', () => bed.ingress.length > 0);
  // Waits for operations that are still in progress outside the cluster.
  await bed.advance(600);
}

async function gone(bed: InMemoryCluster): Promise<void> {
  await bed.until(
    'the Service is gone and no resource remains',
    () => !bed.snapshot.services.has(bed.key) && bed.resources.length === 0 && !holds(bed),
  );
}

function holds({ provider, key, snapshot }: InMemoryCluster): boolean {
  return provider.holds?.(key, snapshot.services.get(key)) === true;
}

/** How many addresses of all pools are assigned. */
function assigned(bed: InMemoryCluster): number {
  return bed
    .part('usage')()
    .reduce((sum, usage) => sum + usage.assigned, 0);
}

function describe({ metadata, type, headless, loadBalancerClass = 'none' }: Service): string {
  return `${serviceKey(metadata)} of ${headless ? 'headless ' : ''}type ${type} and class ${loadBalancerClass}`;
}
