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
  /** What is so of a provider that keeps to the contract. */
  readonly name: string;
  /** Where the world has no such thing, there is nothing to check. */
  readonly needs?: 'left' | 'fail';
  /** The optional part that the check is about. */
  readonly part?: PartName;
  /** Rejects (AssertionError) where it is not so. */
  readonly run: (bed: InMemoryCluster, subject: ProviderSubject) => Promise<void>;
}

const strangers = ['ClusterIP', 'NodePort'] as const;

export const checks: readonly Check[] = [
  {
    name: 'the provider has exactly the optional parts that its subject names, each of them completely',
    async run(bed, { parts = [] }) {
      const provider = await bed.makeProvider();
      assert.deepStrictEqual(missingMethods(provider), [], 'it lacks methods');
      const has = partNames.filter((part) => partMethods[part].every((method: keyof OptionalParts) => provider[method] !== undefined));
      assert.deepStrictEqual(has.toSorted(), parts.toSorted(), 'its subject names other parts');
    },
  },
  {
    name: 'claim says the same of a Service every time, changes nothing and asks nobody',
    async run(bed) {
      const provider = await bed.makeProvider();
      const before = [structuredClone(bed.served), structuredClone(bed.snapshot.config), bed.resources] as const;
      const claims = [1, 2, 3].map(() => provider.claim(bed.served, bed.snapshot));
      for (const claim of claims) {
        assert(claim.mine, 'it does not claim the Service of the subject, or not every time');
        assert.deepStrictEqual(claim, claims[0], 'it says another thing the next time');
      }
      assert.deepStrictEqual([bed.served, bed.snapshot.config, bed.resources], before, 'claim has changed something');
    },
  },
  {
    name: 'claim says no, with a reason of the catalogue, to what is no load balancer and to classes of others',
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
        assert(claim.reason.code in catalogue, `"${claim.reason.code}" is no code of the catalogue`);
      }
    },
  },
  {
    name: 'no Service is claimed by it and by another provider',
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
    name: 'reconcile gives the Service what it asks for, and when called again changes nothing',
    async run(bed) {
      await bed.start();
      await given(bed);
      const [ingress, left] = [bed.ingress, bed.resources];
      await bed.apply({ metadata: { labels: { touched: 'yes' } } });
      await bed.advance(600);
      assert.deepStrictEqual([bed.ingress, bed.resources], [ingress, left], 'the second time is not as the first');
    },
  },
  {
    name: 'what was given stays as it is when the process is started again',
    async run(bed) {
      await bed.start();
      await given(bed);
      const [ingress, left] = [bed.ingress, bed.resources];
      await bed.start();
      await bed.advance(600);
      assert.deepStrictEqual([bed.ingress, bed.resources], [ingress, left], 'it is not as the process before has left it');
    },
  },
  {
    name: 'holds is true of what was given, and of nothing else',
    part: 'ResourceHolder',
    async run(bed) {
      await bed.start();
      await given(bed);
      assert(bed.part('holds')(bed.key, bed.served), 'it holds nothing of the Service that it serves');
      assert(!bed.part('holds')('elsewhere/unknown', undefined), 'it holds something of a Service that there never was');
    },
  },
  {
    name: 'a Service that is deleted goes, and nothing is left of it',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.delete();
      await gone(bed);
    },
  },
  {
    name: 'a Service that comes to be no load balancer keeps no address, and nothing is left of it',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.apply({ spec: { type: 'NodePort', loadBalancerClass: undefined } });
      await bed.until('nothing is left', () => bed.ingress.length === 0 && bed.resources.length === 0 && !holds(bed));
      assert.deepStrictEqual(bed.served.metadata.finalizers ?? [], [], 'its finalizer is still there');
    },
  },
  {
    name: 'a Service that is deleted while nobody runs goes when somebody does',
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
    name: 'a Service that came to be no load balancer while nobody ran leaves nothing when somebody does',
    needs: 'left',
    async run(bed) {
      await bed.start();
      await given(bed);
      await bed.stop();
      await bed.apply({ spec: { type: 'NodePort', loadBalancerClass: undefined } });
      await bed.start();
      await bed.until('nothing is left', () => bed.resources.length === 0 && (bed.served.metadata.finalizers ?? []).length === 0);
    },
  },
  {
    name: 'to release what is not held succeeds',
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
      assert.equal(assigned(bed), during, 'disown has freed the address');
      const { addresses = [] } = await bed.provider.release(bed.key, bed.snapshot, bed.clock.date().getTime());
      assert.deepStrictEqual(addresses.map(formatAddress), bed.ingress, 'release does not return what the Service had');
      assert.equal(assigned(bed), before, 'usage counts an address that was released');
    },
  },
  {
    name: 'while allocation is suspended a Service gets no address and the reason for it',
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
    name: 'preview changes nothing, says what would be made, and has no action once it is made',
    part: 'Previewable',
    async run(bed) {
      await bed.makeProvider();
      const proposed = await bed.part('preview')(bed.key, bed.snapshotWithService());
      assert.notDeepStrictEqual(proposed.actions, [], 'it says of no call that it would be made');
      assert.deepStrictEqual(bed.resources, [], 'preview has made something');
      await bed.start();
      await given(bed);
      const { resources: left } = bed;
      const { actions } = await bed.part('preview')(bed.key, bed.snapshot);
      assert.deepStrictEqual([actions, bed.resources], [[], left], 'it would change what is as it should be, or has changed it');
    },
  },
  {
    name: 'an error of the outside is a reason, or an error with a code, and never takes away what is there',
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
        assert(reason !== undefined && reason.code in catalogue, 'nothing says that it could not be done');
      }
    },
  },
  {
    name: 'while the outside fails a Service keeps what it has, and what it asks for is tried again',
    needs: 'fail',
    async run(bed) {
      const repair = bed.world.fail?.();
      await bed.start();
      await bed.apply();
      await bed.advance(60);
      assert.deepStrictEqual(bed.ingress, [], 'it has an address from an outside that does not answer');
      repair?.();
      await bed.until('it is tried again, and the Service has its ingress', () => bed.ingress.length > 0);
      const { ingress } = bed;
      const repairAgain = bed.world.fail?.();
      await bed.apply({ metadata: { labels: { touched: 'yes' } } });
      await bed.advance(600);
      assert.deepStrictEqual(bed.ingress, ingress, 'it has lost what it had');
      repairAgain?.();
      await bed.advance(600);
      assert.deepStrictEqual(bed.ingress, ingress, 'it has lost what it had');
    },
  },
  {
    name: 'a deletion that the outside did not take is not taken for done, and is tried again',
    needs: 'fail',
    async run(bed, { withoutMetadata }) {
      await bed.start();
      await given(bed);
      const repair = bed.world.fail?.();
      await bed.delete();
      await bed.advance(60);
      assert.notDeepStrictEqual(bed.resources, [], 'the outside has answered after all');
      if (withoutMetadata !== true)
        assert(bed.snapshot.services.has(bed.key), 'the Service is gone, and nobody knows of what is left of it');
      repair?.();
      await gone(bed);
    },
  },
];

async function given(bed: InMemoryCluster): Promise<void> {
  await bed.apply();
  await bed.until('the Service has its ingress', () => bed.ingress.length > 0);
  // What is still on its way outside arrives.
  await bed.advance(600);
}

async function gone(bed: InMemoryCluster): Promise<void> {
  await bed.until(
    'the Service is gone, and nothing is left of it',
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
