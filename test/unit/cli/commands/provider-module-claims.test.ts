import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemoryApi } from '../../../../examples/provider/memory-api.ts';
import { BalancerProvider } from '../../../../examples/provider/provider.ts';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import type { CommandContext } from '../../../../src/cli/context/command-context.ts';
import { explainCommand } from '../../../../src/cli/commands/explain-command.ts';
import { planCommand } from '../../../../src/cli/commands/plan-command.ts';
import type { Claim, Preview } from '../../../../src/controller/provider-module.ts';
import { inProcess } from '../in-process.ts';
import { discard, heraldProcess, root, scratch, type Outcome } from '../program.ts';
import { providerComponents } from '../provider-components.ts';

/** `herald explain` and `herald plan` with the provider module of examples/provider. */
const example = join(root, 'examples/provider/provider.ts');

const service = (name: string, more: string, ports = 'ports: [{ name: http, port: 80, nodePort: 30080 }]'): string =>
  `---\napiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: ${name} }\nspec: { type: LoadBalancer, clusterIPs: [10.96.0.10], ${more}${ports} }\n`;
const slice =
  'apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: { namespace: shop, name: web-1, labels: { kubernetes.io/service-name: web } }\naddressType: IPv4\nports: [{ name: http, port: 80 }]\nendpoints: [{ addresses: [10.244.1.1], conditions: { ready: true } }]\n';
const ours = 'loadBalancerClass: example.com/balancer, ';

const components = providerComponents(false);

/** The example provider with a preview. */
class Previewing extends BalancerProvider {
  readonly #preview: () => Promise<Preview>;

  constructor(preview: () => Promise<Preview>) {
    super(new MemoryApi(), components);
    this.#preview = preview;
  }

  async preview(): Promise<Preview> {
    return this.#preview();
  }
}

/** Claims every Service. */
class Greedy extends BalancerProvider {
  override claim(): Claim {
    return { mine: true };
  }
}

const actions = [{ id: 'shop.web', operation: 'api:Delete', reason: 'it is another one', input: {} }];
const preview: Preview = { observed: ['nothing'], desired: ['balancer shop.web'], actions, waits: [], reasons: [] };

const withProvider = (provider: BalancerProvider): Partial<CommandContext> => ({ claims: async () => [new BareMetalProvider(), provider] });
const silent = withProvider(new BalancerProvider(new MemoryApi(), components));

let directory: string;
const file = (name: string): string => join(directory, name);
beforeEach(async () => {
  directory = await scratch();
  await writeFile(file('web.yaml'), service('web', ours));
});
afterEach(() => discard(directory));

describe('herald explain service --provider', () => {
  const explain = (changes: Partial<CommandContext>, ...more: readonly string[]): Promise<Outcome> =>
    inProcess(explainCommand, ['service', 'shop/web', '-f', directory, '--provider', example, ...more], changes);

  test('explain names the provider and why, and says that it has no preview', async () => {
    const { code, stdout } = await explain(silent);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'Provider   example: spec.loadBalancerClass is example.com/balancer\n           resources of provider example and its pending changes are unknown: it has no preview\n',
    );
    expect(stdout).toContain('Clients\n  no client outside the cluster can connect: provider example has given it no address yet\n');
    expect(JSON.parse((await explain(silent, '-o', 'json')).stdout)).toMatchObject({
      provider: { provider: 'example', noPreview: 'resources of provider example and its pending changes are unknown: it has no preview' },
    });
    await writeFile(file('web.yaml'), `${service('web', ours)}status: { loadBalancer: { ingress: [{ ip: 192.0.2.9, ipMode: Proxy }] } }\n`);
    expect((await explain(silent)).stdout).toContain('  connections to 192.0.2.9 reach the resources of provider example');
  });

  test('explain says why the provider does not claim a Service', async () => {
    await writeFile(file('web.yaml'), service('web', 'loadBalancerClass: example.com/other, '));
    const { stdout } = await explain(silent);
    expect(stdout).toContain('Provider   none: spec.loadBalancerClass is "example.com/other"');
    expect(stdout).toMatch(/\n {11}not example: spec\.loadBalancerClass is "example\.com\/other".*"example\.com\/balancer"\n/);
  });

  test('explain without the module says what the controller that has it recorded', async () => {
    const explainRecord = async (condition: object, ingress: readonly object[] = []): Promise<string> => {
      const conditions = [{ type: 'herald.dev/AddressAssigned', lastTransitionTime: '2026-01-01T00:00:00Z', ...condition }];
      await mkdir(file('.herald/status/services/shop'), { recursive: true });
      const status = { loadBalancer: { ingress }, conditions };
      const record = { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'shop', name: 'web' }, status };
      await writeFile(file('.herald/status/services/shop/web.yaml'), JSON.stringify(record));
      const { stdout } = await inProcess(explainCommand, ['service', 'shop/web', '--source', directory, '--no-ask']);
      expect(stdout).toContain('\nProvider   a module of the controller, ');
      expect(stdout).not.toMatch(/example\.com\/balancer|another program/);
      return stdout;
    };
    const refused = await explainRecord({ status: 'False', reason: 'ProviderRefused', message: 'Not served: provider example: no UDP.' });
    expect(refused).toMatch(/^Not served: provider example: no UDP\.\n/);
    expect(refused).toContain("connect: the controller's provider has given it no address yet\n");
    const given = await explainRecord({ status: 'True', reason: 'Assigned', message: 'It has 192.0.2.9' }, [{ ip: '192.0.2.9' }]);
    expect(given).toMatch(/^Not served: the Service has no endpoints\. Check the Service's selector/);
    await writeFile(file('slice.yaml'), slice);
    const served = await explainRecord({ status: 'True', reason: 'Assigned', message: 'It has 192.0.2.9' }, [{ ip: '192.0.2.9' }]);
    expect(served).toMatch(
      /^Announced, not checked: the controller's provider serves it at 192\.0\.2\.9 and decides where connections go\.\n/,
    );
  });

  test('explain shows two rival claims, and a provider that still holds resources', async () => {
    const finalizer = service('web', 'loadBalancerClass: herald.dev/herald, ').replace(
      'name: web',
      'name: web, finalizers: [example.com/balancer]',
    );
    await writeFile(file('web.yaml'), finalizer);
    expect((await explain(silent)).stdout).toContain(
      'Held by    example: resources that it created for the Service and has not released yet',
    );
    const { stdout } = await explain(withProvider(new Greedy(new MemoryApi(), components)));
    expect(stdout).toContain('Provider   bare-metal: spec.loadBalancerClass is herald.dev/herald\n');
    expect(stdout).toContain('           example claims it too, but comes later: a Service has one provider\n');
  });

  test('explain shows the preview of a provider that has one', async () => {
    const { stdout } = await explain(withProvider(new Previewing(async () => preview)));
    expect(stdout).toContain(
      '  observed\n    nothing\n  desired\n    balancer shop.web\n  difference\n    api:Delete  shop.web  (it is another one)\n',
    );
    expect(stdout).not.toMatch(/(is|are) unknown/);
  });

  test('explain shows why a preview failed, and passes on a bug of the provider', async () => {
    const away = Object.assign(new Error('the API does not answer'), { code: 'unreachable' });
    const { code, stdout } = await explain(withProvider(new Previewing(async () => Promise.reject(away))));
    expect(code).toBe(0);
    expect(stdout).toContain('  ! provider example: the API does not answer\n');
    expect(stdout).toContain('  resources of provider example are unknown\n');
    await expect(explain(withProvider(new Previewing(async () => Promise.reject(new TypeError('x is undefined')))))).rejects.toThrow(
      'x is undefined',
    );
  });
});

describe('herald plan --provider', () => {
  let proposed: string;
  beforeEach(async () => {
    proposed = await scratch();
  });
  afterEach(() => discard(proposed));
  const plan = (changes: Partial<CommandContext>, ...more: readonly string[]): Promise<Outcome> =>
    inProcess(planCommand, ['-f', proposed, '--source', directory, '--provider', example, ...more], changes);
  const propose = (name: string, text: string): Promise<void> => writeFile(join(proposed, name), text);

  test('plan lists Services that the provider would begin, continue or stop to serve', async () => {
    await writeFile(
      file('more.yaml'),
      service('gone', ours) + service('pools', 'loadBalancerClass: herald.dev/herald, ') + service('same', ours),
    );
    await propose('web.yaml', service('web', ours, 'ports: [{ name: http, port: 81, nodePort: 30080 }]'));
    await propose('more.yaml', service('same', ours) + service('pools', ours) + service('new', ours));
    const { code, stdout } = await plan(silent);
    expect(code).toBe(2);
    expect(stdout).toContain(
      [
        'Providers',
        '  - shop/gone: provider example would stop serving it',
        '  + shop/new: provider example would serve it',
        '  ~ shop/pools: provider example would serve it in place of bare-metal',
        '  ~ shop/web: provider example would see the change',
        'The changes of provider example are unknown: it has no preview.',
        '',
      ].join('\n'),
    );
    expect(stdout).not.toMatch(/shop\/same|AWS/);
    expect(JSON.parse((await plan(silent, '-o', 'json')).stdout)).toMatchObject({
      providers: [{ service: 'shop/gone', before: 'example' }, { service: 'shop/new', after: 'example' }, {}, {}],
      untold: ['example'],
    });
  });

  test('plan is silent about the provider when nothing changes', async () => {
    await propose('web.yaml', await readFile(file('web.yaml'), 'utf8'));
    expect(await plan(silent)).toEqual({ code: 0, stdout: 'Nothing would change.\n', stderr: '' });
  });

  test("plan shows the provider's preview, which does not count as an AWS call", async () => {
    await propose('web.yaml', await readFile(file('web.yaml'), 'utf8'));
    const { code, stdout, stderr } = await plan(withProvider(new Previewing(async () => preview)), '--fail-on', 'aws-call,aws-delete');
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout).toBe(
      'Calls of provider example\n  shop/web\n    api:Delete  shop.web  (it is another one)\n\n1 calls of provider example would be made first; what follows depends on their outcome.\n',
    );
    const none = { ...preview, actions: [] };
    const idle = await plan(withProvider(new Previewing(async () => none)));
    expect(idle).toMatchObject({ code: 0, stdout: 'Nothing would change.\nNo call of provider example would be made.\n' });
  });

  test('plan shows no call of a provider for a Service that another provider gets', async () => {
    await writeFile(file('web.yaml'), service('web', 'loadBalancerClass: herald.dev/herald, '));
    await propose('web.yaml', await readFile(file('web.yaml'), 'utf8'));
    const rival = new Previewing(async () => preview);
    vi.spyOn(rival, 'claim').mockReturnValue({ mine: true });
    expect((await plan(withProvider(rival))).stdout).toBe('Nothing would change.\nNo call of provider example would be made.\n');
  });

  test("plan exits with an error when the provider's preview fails", async () => {
    await propose('web.yaml', await readFile(file('web.yaml'), 'utf8'));
    const away = Object.assign(new Error('the API does not answer'), { code: 'unreachable' });
    const { code, stdout } = await plan(withProvider(new Previewing(async () => Promise.reject(away))));
    expect(code).toBe(1);
    expect(stdout).toContain('! provider example: the API does not answer');
    expect(stdout).not.toContain('Nothing would change.');
  });
});

describe('a provider module in a read-only command', () => {
  beforeAll(() => void vi.stubEnv('BALANCER_API', 'http://127.0.0.1:1'));
  afterAll(() => void vi.unstubAllEnvs());

  test('explain and plan load the module from its path', async () => {
    const { code, stdout } = await heraldProcess('explain', 'service', 'shop/web', '-f', directory, '--provider', example);
    expect(code).toBe(0);
    expect(stdout).toContain('Provider   example: spec.loadBalancerClass is example.com/balancer\n');
    expect((await inProcess(explainCommand, ['service', 'shop/web', '-f', directory])).stdout).toContain('Provider   none: ');
    const planned = await heraldProcess('plan', '-f', directory, '--source', 'none', '--provider', example);
    expect(planned.code).toBe(2);
    expect(planned.stdout).toContain('  + shop/web: provider example would serve it\n');
  });

  test('the module cannot write, neither outside the cluster nor to Services', async () => {
    const module = file('acme.mjs');
    await writeFile(
      module,
      `import { createProvider as make } from ${JSON.stringify(example)};
       export const createProvider = (components) => {
         if (components.mayWrite() || components.serviceMetadata !== undefined) throw new Error('it may write');
         return make(components);
       };`,
    );
    const { code, stderr } = await heraldProcess('explain', 'service', 'shop/web', '-f', file('web.yaml'), '--provider', module);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('a handle that the module keeps open does not keep the command from ending', async () => {
    const module = file('open.mjs');
    await writeFile(module, `setInterval(() => undefined, 1000);\nexport { createProvider } from ${JSON.stringify(example)};`);
    const { code, stdout } = await heraldProcess('explain', 'service', 'shop/web', '-f', file('web.yaml'), '--provider', module);
    expect(code).toBe(0);
    expect(stdout).toContain('Provider   example: ');
  });

  test('a faulty module is an error', async () => {
    const missing = await heraldProcess('explain', 'service', 'shop/web', '-f', directory, '--provider', file('none.ts'));
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/^herald: --provider .*none\.ts: it could not be loaded: /)]);
    const planned = await heraldProcess('plan', '-f', directory, '--source', 'none', '--provider', file('none.ts'));
    expect([planned.code, planned.stderr]).toEqual([1, expect.stringContaining('it could not be loaded')]);
  });
});
