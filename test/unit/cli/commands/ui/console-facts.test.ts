import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { openConsoleFacts } from '../../../../../src/cli/commands/ui/console-facts.ts';
import type { OutsideOptions } from '../../../../../src/cli/commands/plan-outcome.ts';
import type { Provider } from '../../../../../src/controller/provider.ts';
import type { Service } from '../../../../../src/model/objects/service.ts';
import { planCommand } from '../../../../../src/cli/commands/plan-command.ts';
import { checkCommand } from '../../../../../src/cli/commands/check/check-command.ts';
import { explainCommand } from '../../../../../src/cli/commands/explain-command.ts';
import { poolsCommand } from '../../../../../src/cli/commands/tables/pools-command.ts';
import { statusCommand } from '../../../../../src/cli/commands/tables/status-command.ts';
import { addressesView } from '../../../../../src/console/views/addresses.ts';
import { fabricView } from '../../../../../src/console/views/fabric.ts';
import { serviceView } from '../../../../../src/console/views/service.ts';
import { servicesView } from '../../../../../src/console/views/services.ts';
import { objectStatusFolder } from '../../../../../src/sources/directory/layout.ts';
import { collecting, inProcess } from '../../in-process.ts';
import { root } from '../../program.ts';

let directory: string;
const socket = ['none'];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'herald-ui-'));
  await cp(join(root, 'examples/fabric'), directory, { recursive: true });
});

afterEach(() => rm(directory, { recursive: true }));

describe('the facts of the console', () => {
  test('a Service is explained with the lines of the command', async () => {
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const view = await facts.explain('shop/web');
    for (const [lines, words] of [
      [view?.lines, []],
      [view?.wideLines, ['-o', 'wide']],
    ] as const) {
      const { stdout } = await inProcess(explainCommand, ['service', 'shop/web', '--source', directory, '--socket', 'none', ...words]);
      expect(lines?.map((line) => `${line}\n`).join('')).toBe(stdout);
    }
    expect(view?.lines[0]).toBe(view?.explanation.verdict.line);
    await facts.close();
  });

  test('problems are those of the command', async () => {
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const { problems } = fabricView(await facts.read());
    const { stdout } = await inProcess(statusCommand, ['--problems', '-o', 'json', '--source', directory, '--socket', 'none']);
    // Those of Services also have their outcome.
    expect(problems).toMatchObject((JSON.parse(stdout) as { readonly problems: object[] }).problems);
    expect(problems.length).toBeGreaterThan(0);
    await facts.close();
  });

  test('an edit of a directory is in the next picture, and an object with an error is a note', async () => {
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const before = servicesView(await facts.read());
    expect(before.notes.filter(({ severity }) => severity === 'error')).toEqual([]);
    await writeFile(
      join(directory, '90-wrong.yaml'),
      'apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: bent }\nspec: { addresses: 7 }\n',
    );
    await expect
      .poll(
        async () =>
          servicesView(await facts.read())
            .notes.filter(({ severity }) => severity === 'error')
            .map(({ line }) => line),
        { timeout: 20_000 },
      )
      .toEqual(expect.arrayContaining([expect.stringMatching(/^problem: 90-wrong\.yaml:4.*IPAddressPool\/bent/)]));
    await facts.close();
  });

  test('a check has the lines of the command, and is offered where agents can be asked', async () => {
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const checked = await facts.check('shop/ledger');
    const { stdout } = await inProcess(checkCommand, ['service', 'shop/ledger', '--source', directory, '--socket', 'none']);
    expect(`${checked?.lines.join('\n')}\n`).toBe(stdout);
    expect(await facts.check('shop/nothing')).toBeUndefined();
    expect((await facts.explain('shop/ledger'))?.mayCheck).toBe(true);
    await facts.close();
  });

  test('a Service with an error is not called deleted: its error is told', async () => {
    await writeFile(
      join(directory, '93-broken.yaml'),
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: broken }\nspec: { type: LoadBalancer, clusterIP: 10.96.0.78, ports: 7 }\n',
    );
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    expect(fabricView(await facts.read()).problems.map(({ object }) => object)).toContain('Service/shop/broken');
    expect(await facts.explain('shop/broken')).toBeUndefined();
    expect(facts.whyUnexplained('shop/broken')).toEqual([expect.stringMatching(/^93-broken\.yaml:4.*Service\/shop\/broken: spec\.ports/)]);
    expect(facts.whyUnexplained('shop/nothing')).toEqual([]);
    expect(facts.whyUnexplained('shop/web')).toEqual([]);
    await facts.close();
  });

  test.each(['a directory', 'manifests'])('an address that the status of a pool keeps is shown as kept: %s', async (kind) => {
    const status = `status:\n  released: [{ service: shop/gone, address: 100.64.9.7, until: "2999-01-01T00:00:00Z" }]\n`;
    const kept = `${pool('keeping', '[100.64.9.0/28], keepReleasedSeconds: 600')}${status}`;
    await writeFile(join(directory, '92-keeping.yaml'), kept);
    const records = join(directory, objectStatusFolder, 'ipaddresspool');
    await mkdir(records, { recursive: true });
    await writeFile(join(records, 'keeping.yaml'), kept);
    const from = kind === 'manifests' ? { file: [join(directory, '92-keeping.yaml')] } : { source: directory, socket };
    const facts = await openConsoleFacts(collecting().context, from);
    const { pools } = addressesView(await facts.read());
    await facts.close();
    const counted = { family: 'IPv4', given: 0, kept: 1, free: '15', total: '16' };
    expect(pools.find(({ pool: name }) => name === 'keeping')?.usage).toEqual([counted]);
    const place = kind === 'manifests' ? ['-f', join(directory, '92-keeping.yaml')] : ['--source', directory, '--socket', 'none'];
    const { stdout } = await inProcess(poolsCommand, ['--pool', 'keeping', ...place]);
    expect(stdout).toMatch(/^Pool +Family +Addresses +Given +Kept +Free .*\nkeeping +IPv4 +16 +0 +1 +15 /m);
    const { stdout: explained } = await inProcess(explainCommand, ['pool', 'keeping', ...place]);
    expect(explained).toContain('IPv4 0 given, 15 of 16 free');
    expect(pools.find(({ pool: name }) => name === 'keeping')?.ranges[0]?.cells).toEqual([
      { at: 7, address: '100.64.9.7', state: 'kept', services: ['shop/gone'], until: '2999-01-01T00:00:00.000Z' },
    ]);
  });

  test('no view has a password, even where a sentence quotes it', async () => {
    const secret = 'swordfish-of-tor1';
    await writeFile(
      join(directory, '91-secret.yaml'),
      `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: guarded }
spec: { myASN: 64512, peerASN: 64513, peerAddress: 10.1.0.9, password: ${secret} }
---
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: quoting, annotations: { herald.dev/address-pool: ${secret} } }
spec: { type: LoadBalancer, clusterIP: 10.96.0.77, ports: [{ port: 80 }] }
`,
    );
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const picture = await facts.read();
    const explained = await facts.explain('shop/quoting');
    if (explained === undefined) throw new Error('the Service was not read');
    const views = [servicesView(picture), fabricView(picture), addressesView(picture), serviceView(explained)];
    // Without redaction the sentence on the Service quotes it.
    expect(JSON.stringify(views)).toContain(secret);
    expect(JSON.stringify(views.map((view) => facts.redact(view)))).not.toContain(secret);
    await facts.close();
  });

  test('no view of standard input has a password, although it is read once', async () => {
    const secret = 'swordfish-of-tor2';
    const peer = `apiVersion: herald.dev/v1alpha1\nkind: BGPPeer\nmetadata: { name: guarded }\nspec: { myASN: 64512, peerASN: 64513, peerAddress: 10.1.0.9, password: ${secret} }\n`;
    const facts = await openConsoleFacts(collecting({ readInput: async () => peer }).context, { file: ['-'] });
    await facts.read();
    expect(facts.redact(`a sentence with ${secret}`)).toBe('a sentence with REMOVED');
    await facts.close();
  });

  test('manifests for a directory are planned like an edited copy of it, and nothing is written', async () => {
    const written = `${pool('public', '[203.0.113.128/28, "2001:db8:201::/64"]')}---\n${pool('more', '[203.0.113.64/28, "2001:db8:200::/64"]')}`;
    const before = await contentOf(directory);
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const { lines, notes } = await facts.plan(written);
    await facts.close();
    expect(await contentOf(directory)).toEqual(before);
    const edited = await mkdtemp(join(tmpdir(), 'herald-edited-'));
    try {
      await cp(directory, edited, { recursive: true });
      const file = join(edited, '20-herald.yaml');
      const documents = parseAllDocuments(await readFile(file, 'utf8')).map((document) => document.toString());
      const others = documents.filter((text) => !/kind: IPAddressPool/.test(text) || !/name: public/.test(text));
      expect(others).toHaveLength(documents.length - 1);
      await writeFile(file, [...others, written].map((text) => `---\n${text.replace(/^---\n/, '')}`).join(''));
      const { stdout } = await inProcess(planCommand, ['-f', edited, '--source', directory]);
      expect(`${lines.join('\n')}\n`).toBe(stdout);
      expect(stdout).toMatch(/shop\/web: none -> 203\.0\.113\.64/);
      expect(notes).toEqual([]);
    } finally {
      await rm(edited, { recursive: true });
    }
  });

  test('an object with an error is planned as it is now, with object, field and fix', async () => {
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    const { lines, notes, summary } = await facts.plan(pool('public', '[192.0.2.0/99]'));
    expect(notes).toEqual([
      {
        severity: 'error',
        line: expect.stringMatching(/^your manifests:4:\d+: IPAddressPool\/public: spec\.addresses\[0\]: .+/) as string,
      },
    ]);
    expect(lines[0]).toBe(`problem: ${notes[0]?.line}`);
    expect(summary.at(-1)).toBe('The proposal has errors, listed above: objects with an error are compared as they are now.');
    await facts.close();
  });

  test('text that is no YAML is told with its line', async () => {
    const facts = await openConsoleFacts(collecting().context, { source: directory, socket });
    expect((await facts.plan('kind: [')).notes).toMatchObject([
      { severity: 'error', line: expect.stringMatching(/^your manifests:\d+:\d+: /) as string },
    ]);
    await facts.close();
  });

  test('calls to AWS are in the plan when the cluster of AWS is named', async () => {
    const actions = [{ id: 'load balancer', operation: 'elbv2:CreateLoadBalancer', reason: 'there is none', input: {} }];
    const aws = {
      name: 'aws',
      claim: (service: Service) => ({ mine: service.metadata.name === 'cloudy' }),
      preview: async () => ({ observed: [], desired: [], actions, waits: [], reasons: [] }),
    } as unknown as Provider;
    const { context } = collecting({ providers: async () => [aws] });
    const cloudy =
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: cloudy }\nspec: { type: LoadBalancer, clusterIP: 10.96.0.99, ports: [{ port: 80 }] }\n';
    for (const [outside, told] of [
      [undefined, []],
      [
        { awsClusterName: 'production' } as OutsideOptions,
        [
          'Calls to AWS',
          '  shop/cloudy',
          '    elbv2:CreateLoadBalancer  load balancer  (there is none)',
          '',
          '1 calls to AWS would be made first; what follows depends on their outcome.',
        ],
      ],
    ] as const) {
      const facts = await openConsoleFacts(context, { source: directory, socket }, outside);
      const planned = await facts.plan(cloudy);
      expect(planned.outside).toEqual(told);
      expect(planned.lines.slice(planned.lines.length - told.length)).toEqual(told);
      await facts.close();
    }
  });

  test('manifests are applied to other manifests as to a cluster', async () => {
    const facts = await openConsoleFacts(collecting().context, { file: [directory] });
    const { lines, notes } = await facts.plan(
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: web }\nspec: { externalTrafficPolicy: Local }\n',
    );
    expect(notes).toEqual([]);
    expect(lines).toContain('Rules');
    expect(lines.join('\n')).not.toContain('- 198.51.100');
    await facts.close();
  });

  test('a directory that does not exist is an error of the command', async () => {
    await expect(openConsoleFacts(collecting().context, { source: join(directory, 'nothing'), socket })).rejects.toThrow(
      /there is no directory/,
    );
  });
});

function pool(name: string, addresses: string): string {
  return `apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: ${name} }\nspec: { addresses: ${addresses} }\n`;
}

/** Every file below a folder, with its content. */
async function contentOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((one) => one.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const)));
}
