import { expect, test } from 'vitest';
import type { MemoryApi } from '../../../examples/provider/memory-api.ts';
import { BalancerProvider } from '../../../examples/provider/provider.ts';
import { exampleSubject } from '../../../examples/provider/subject.ts';
import type { Preview, Provider, ProviderComponents, ServiceKey, Snapshot } from '../../../src/controller/provider-module.ts';
import { providerChecks, type ProviderSubject } from '../../../src/controller/provider-testing/index.ts';
import { Store } from '../../../src/model/store/store.ts';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { cloudSubject, InMemoryCloudProvider } from './in-memory-cloud.ts';
import { pools } from './pools-subject.ts';

/** One mistake in the example, and the check that finds it. */
interface Mistake {
  readonly what: string;
  readonly found: RegExp;
  readonly make: (api: MemoryApi, components: ProviderComponents) => Provider;
}

/** Replaces some methods of the example; the new ones may call the original ones. */
function changed(change: (right: Provider, api: MemoryApi, components: ProviderComponents) => Partial<Provider>): Mistake['make'] {
  return (api, components) => {
    const right = new BalancerProvider(api, components);
    const wrong = change(right, api, components);
    return new Proxy(right, {
      get: (target, name) => {
        const value: unknown = Reflect.get(name in wrong ? wrong : target, name);
        return typeof value === 'function' ? (value.bind(name in wrong ? wrong : target) as unknown) : value;
      },
    });
  };
}

const mistakes: readonly Mistake[] = [
  {
    what: 'a claim that changes with time',
    found: /^claim returns the same/,
    make: changed((right) => {
      let asked = 0;
      return {
        claim: (service, snapshot) =>
          asked++ % 2 === 0 ? right.claim(service, snapshot) : right.claim({ ...service, headless: true }, snapshot),
      };
    }),
  },
  {
    what: 'a claim that makes something',
    found: /^claim returns the same/,
    make: changed((right, api) => ({
      claim(service, snapshot) {
        api.balancers.set('early', { name: 'early', address: '192.0.2.99', ports: [], hosts: [] });
        return right.claim(service, snapshot);
      },
    })),
  },
  {
    what: 'a claim to every class',
    found: /^claim refuses/,
    make: changed(() => ({ claim: () => ({ mine: true }) })),
  },
  {
    what: 'a claim to what pools serve',
    found: /^no other provider claims/,
    make: changed((right) => ({
      claim: (service, snapshot) => (service.loadBalancerClass === undefined ? { mine: true } : right.claim(service, snapshot)),
    })),
  },
  {
    what: 'a new balancer at each reconcile',
    found: /^reconcile gives the Service/,
    make: changed((right, api) => ({
      async reconcile(service, snapshot) {
        api.balancers.set(`extra-${api.balancers.size}`, { name: 'extra', address: '192.0.2.98', ports: [], hosts: [] });
        return right.reconcile(service, snapshot);
      },
    })),
  },
  {
    what: 'another address after a restart',
    found: /^a restart of the process/,
    make: changed((right, api) => ({
      adopt(snapshot, recorded, uids) {
        api.balancers.clear();
        right.adopt?.(snapshot, recorded, uids);
      },
    })),
  },
  {
    what: 'a part that its subject does not name',
    found: /^the provider has exactly the optional parts/,
    make: changed(() => ({ preview: async () => ({ observed: [], desired: [], actions: [], waits: [], reasons: [] }) })),
  },
  {
    what: 'a part with a missing method',
    found: /^the provider has exactly the optional parts/,
    make: changed(() => ({ usage: () => [] })),
  },
  {
    what: 'a requeue without a change',
    found: /^affected returns no Service/,
    make: changed(() => ({ affected: () => ['default/web'] })),
  },
  {
    what: 'due work for an unknown Service',
    found: /^runDue returns no Service/,
    make: changed((right) => ({ runDue: (now) => [...(right.runDue?.(now) ?? []), 'default/web'] })),
  },
  { what: 'a provider that holds everything', found: /^holds is true/, make: changed(() => ({ holds: () => true })) },
  { what: 'a provider that holds nothing', found: /^holds is true/, make: changed(() => ({ holds: () => false })) },
  {
    what: 'a deletion that leaves the balancer',
    found: /^a deleted Service goes/,
    make: (api, components) =>
      new BalancerProvider(
        { get: (name) => api.get(name), put: (name, wanted) => api.put(name, wanted), delete: async () => undefined },
        components,
      ),
  },
  {
    what: 'a deletion that leaves the finalizer',
    found: /^a deleted Service goes/,
    make: (api, components) =>
      new BalancerProvider(api, {
        ...components,
        serviceMetadata: (name) => ({
          ...(components.serviceMetadata?.(name) ?? expect.fail()),
          addFinalizer: (key) => components.serviceMetadata?.(name).addFinalizer(key) ?? Promise.resolve(),
          removeFinalizer: async () => undefined,
        }),
      }),
  },
  {
    what: 'a release that does nothing',
    found: /^a Service that stops being a load balancer/,
    make: changed(() => ({ release: async () => ({}) })),
  },
  {
    what: 'no finalizer',
    found: /^a Service that was deleted while no process ran/,
    make: (api, { clock, random, log, stopped, variables, mayWrite }) =>
      new BalancerProvider(api, { clock, random, log, stopped, variables, mayWrite }),
  },
  {
    what: 'a release that relies on memory alone',
    found: /^a Service that stopped being a load balancer/,
    make: changed((right) => {
      const seen = new Set<string>();
      return {
        async reconcile(service, snapshot) {
          seen.add(service.metadata.name);
          return right.reconcile(service, snapshot);
        },
        release: async (key, snapshot, now) => (seen.has(key.split('/')[1] ?? '') ? right.release(key, snapshot, now) : {}),
      };
    }),
  },
  {
    what: 'a release that rejects what is not held',
    found: /^release of an unknown Service/,
    make: changed((right) => ({
      release: async (key, snapshot, now) =>
        key === 'default/web' ? right.release(key, snapshot, now) : Promise.reject(new Error('not held')),
    })),
  },
  {
    what: 'an error without a code',
    found: /^an outside failure becomes/,
    make: changed((right, api) => ({
      reconcile: async (service, snapshot) => (api.fails ? Promise.reject(new Error('failed')) : right.reconcile(service, snapshot)),
    })),
  },
  {
    what: 'an address taken away while the outside fails',
    found: /^a Service keeps its ingress while/,
    make: changed((right) => ({
      async reconcile(service, snapshot) {
        const answer = await right.reconcile(service, snapshot);
        return answer.reason === undefined ? answer : { ...answer, ingress: [] };
      },
    })),
  },
  {
    what: 'a failure that is not retried',
    found: /^a Service keeps its ingress while/,
    make: changed(() => ({ runDue: () => [] })),
  },
  {
    what: 'a failed deletion that is treated as done',
    found: /^a deletion that the outside refused/,
    make: changed((right, api, { serviceMetadata }) => ({
      async reconcile(service, snapshot) {
        const answer = await right.reconcile(service, snapshot);
        if (service.metadata.deleting && api.fails) await serviceMetadata?.('example.com/balancer').removeFinalizer('default/web');
        return answer;
      },
    })),
  },
];

/** Mistakes in parts that the example does not have, made in the pool provider and in the in-memory cloud. */
class FreesOnDisown extends BareMetalProvider {
  override disown(key: ServiceKey): void {
    void this.release(key, new Store(), 0);
  }
}
class RequeuesUnknown extends BareMetalProvider {
  override statusWritten(key: ServiceKey): readonly ServiceKey[] {
    return this.holds(key) ? super.statusWritten(key) : [key];
  }
}
class AssignsWhileSuspended extends BareMetalProvider {
  override suspendAllocation(): void {}
}
class ActsInPreview extends InMemoryCloudProvider {
  override async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    const service = snapshot.services.get(key);
    if (service !== undefined) await this.reconcile(service, snapshot);
    return super.preview(key, snapshot);
  }
}

const poolsSubject = (provider: BareMetalProvider): ProviderSubject => ({ ...pools, world: () => ({ createProvider: () => provider }) });
const mistakesInParts: readonly { readonly what: string; readonly found: RegExp; readonly subject: ProviderSubject }[] = [
  { what: 'a disown that frees the address', found: /^a disowned Service keeps/, subject: poolsSubject(new FreesOnDisown()) },
  {
    what: 'a statusWritten that requeues an unknown Service',
    found: /^disown and statusWritten/,
    subject: poolsSubject(new RequeuesUnknown()),
  },
  {
    what: 'a suspension that is ignored',
    found: /^a Service gets no address but the reason/,
    subject: poolsSubject(new AssignsWhileSuspended()),
  },
  {
    what: 'a preview that makes what it shows',
    found: /^preview changes nothing/,
    subject: cloudSubject((cloud, components) => new ActsInPreview(cloud, components)),
  },
];

async function failing(subject: ProviderSubject): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of providerChecks(subject)) {
    await run().catch(() => failed.push(name));
  }
  return failed;
}

test.each(mistakes.map(({ what, ...mistake }) => [what, mistake] as const))('a check finds %s', async (_, { found, make }) => {
  expect((await failing(exampleSubject(make))).join('\n')).toMatch(new RegExp(found.source, 'm'));
});

test.each(mistakesInParts.map(({ what, ...mistake }) => [what, mistake] as const))('a check finds %s', async (_, { found, subject }) => {
  expect((await failing(subject)).join('\n')).toMatch(new RegExp(found.source, 'm'));
});

test('each check finds one of these mistakes', () => {
  const all = [exampleSubject(), pools, cloudSubject()].flatMap((subject) => providerChecks(subject));
  const unproved = all.filter(({ name }) => ![...mistakes, ...mistakesInParts].some(({ found }) => found.test(name)));
  expect(unproved).toEqual([]);
});
