import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { importCommand } from '../../../../../src/cli/commands/import/import-command.ts';
import { inProcess } from '../../in-process.ts';
import { discard, scratch, type Outcome } from '../../program.ts';

let directory: string;

beforeEach(async () => {
  directory = await scratch();
});

afterEach(() => discard(directory));

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

const importing = (...words: readonly string[]): Promise<Outcome> => inProcess(importCommand, words);
const importingText = (text: string, ...words: readonly string[]): Promise<Outcome> =>
  inProcess(importCommand, ['-', ...words], { readInput: async () => text });

const pool = 'apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: a}\nspec: {blocks: [{cidr: 192.0.2.0/24}]}\n';
const layer2 = 'apiVersion: cilium.io/v2alpha1\nkind: CiliumL2AnnouncementPolicy\nmetadata: {name: a}\nspec: {loadBalancerIPs: true}\n';
const legacy = 'address-pools: [{name: b, protocol: layer2, addresses: [198.51.100.0/28]}]\n';

describe('annotations for Services that are not in the files', () => {
  const object = (kind: string, rest: string): string =>
    `apiVersion: example.com/v1\nkind: ${kind}\nmetadata: {name: plex, namespace: media}\n${rest}\n`;
  const asking = '{lbipam.cilium.io/ips: "192.0.2.7,2001:db8::7"}';

  test.each<[string, string, string]>([
    ['HelmRelease', `spec: {values: {service: {app: {annotations: ${asking}}}}}`, 'spec.values.service.app.annotations'],
    ['Gateway', `spec: {infrastructure: {annotations: ${asking}}}`, 'spec.infrastructure.annotations'],
    ['EnvoyProxy', `spec: {provider: {kubernetes: {envoyService: {annotations: ${asking}}}}}`, 'envoyService.annotations'],
    ['ConfigMap', `data: {values.yaml: 'service: {annotations: ${asking}}'}`, 'data.values.yaml.service.annotations'],
    ['HelmChart', `spec: {valuesContent: 'service: {annotations: ${asking}}'}`, 'spec.valuesContent.service.annotations'],
    ['Application', `spec: {source: {helm: {valuesObject: {service: {annotations: ${asking}}}}}}`, 'valuesObject.service.annotations'],
  ])('%s: is a loss with the annotation to write', async (kind, rest, field) => {
    const { code, stderr } = await importingText(`${pool}---\n${object(kind, rest)}`);
    const name = `${kind}/media/plex (standard input:6)`;
    expect(stderr).toContain(`not read: ${name} has annotations of a Service that is not in the input`);
    expect(stderr).toContain(field);
    expect(stderr.split('asks Cilium for')).toHaveLength(2);
    expect(stderr).toContain(
      'asks Cilium for 192.0.2.7,2001:db8::7 (write herald.dev/load-balancer-ips: "192.0.2.7,2001:db8::7" beside it)',
    );
    expect(code).toBe(3);
  });

  test.each<[string, string]>([
    [
      'metallb.universe.tf/loadBalancerIPs: 192.0.2.7',
      'asks MetalLB for 192.0.2.7 (write herald.dev/load-balancer-ips: "192.0.2.7" beside it)',
    ],
    ['metallb.io/address-pool: edge', 'asks MetalLB for edge (write herald.dev/address-pool: "edge" beside it)'],
    ['kube-vip.io/loadbalancerIPs: 0.0.0.0', 'asks kube-vip for 0.0.0.0 (0.0.0.0 means an address from a DHCP server'],
    ['kube-vip.io/egress: "true"', 'asks kube-vip for true (Herald has no egress'],
    ['purelb.io/allow-shared-ip: dns', 'asks PureLB for dns (write herald.dev/allow-shared-ip: "dns" beside it)'],
    ['projectcalico.org/loadBalancerIPs: \'["192.0.2.7"]\'', '(write herald.dev/load-balancer-ips: "192.0.2.7" beside it)'],
  ])('%s', async (annotation, line) => {
    const { code, stderr } = await importingText(object('HelmRelease', `spec: {values: {annotations: {${annotation}}}}`));
    expect([code, stderr]).toEqual([3, expect.stringContaining(line)]);
  });

  test('other annotations and empty ones ask for nothing', async () => {
    const text = object('HelmRelease', 'spec: {values: {annotations: {example.com/ips: 192.0.2.7, lbipam.cilium.io/ips: ""}}}');
    expect(await importingText(text)).toMatchObject({ code: 1, stderr: expect.stringContaining('has no configuration of') as string });
  });

  test('-o json has them', async () => {
    const { stdout } = await importingText(object('Gateway', `spec: {infrastructure: {annotations: ${asking}}}`), '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      elsewhere: [{ object: 'Gateway/media/plex', tool: 'Cilium', value: '192.0.2.7,2001:db8::7' }],
    });
  });
});

describe('what is only in templates', () => {
  const advertisement = 'apiVersion: metallb.io/v1beta1\nkind: L2Advertisement\nmetadata: {name: a}\nspec: {ipAddressPools: [edge]}\n';
  const template =
    'apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata:\n  namespace: metallb-system\n  name: edge\nspec:\n  addresses:\n  {% for one in ranges %}\n  - {{ one }}\n  {% endfor %}\n';

  test('is not said to be missing', async () => {
    await file('advertisement.yaml', advertisement);
    await file('pool.yaml', template);
    const { code, stderr } = await importing(directory);
    expect(stderr).toContain('pool.yaml is a template: render it first');
    expect(stderr).toContain('names IPAddressPool "edge", which was not imported');
    expect(stderr).not.toContain('create IPAddressPool');
    expect(code).toBe(3);
  });

  test('is lost, and not said to be no configuration when nothing else is there', async () => {
    const { code, stdout, stderr } = await importing(await file('pool.yaml.j2', template));
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('pool.yaml.j2 is a template: render it first')]);
    expect(stderr).toContain('has nothing that could be imported: see the problems above');
    expect(stderr).not.toContain('has no configuration of');
  });

  test('peers that a CiliumBGPAdvertisement needs are named as templates', async () => {
    const cluster = `apiVersion: cilium.io/v2\nkind: CiliumBGPClusterConfig\nmetadata: {name: main}\nspec: {bgpInstances: [{name: a, localASN: "\${ASN}"}]}\n`;
    const announced = `apiVersion: cilium.io/v2\nkind: CiliumBGPAdvertisement\nmetadata: {name: a, labels: {a: b}}\nspec: {advertisements: [{advertisementType: Service, service: {addresses: [LoadBalancerIP]}, selector: {matchLabels: {}}}]}\n`;
    const { stderr } = await importingText(`${cluster}---\n${announced}`);
    expect(stderr).toContain(
      'is selected by no peer of the input: no BGPAdvertisement is written (render CiliumBGPClusterConfig/main first)',
    );
  });

  test('variables of the shell in the scripts of a workload are no placeholders', async () => {
    const script = `initContainers: [{name: cni, image: busybox, command: [sh, -c, 'mv "\${TMP}" /etc/cni']}]`;
    const container = (router: string): string =>
      `containers: [{name: kube-router, image: cloudnativelabs/kube-router, args: [--run-router=true, --peer-router-ips=${router}, --peer-router-asns=64513, --cluster-asn=64512, --advertise-loadbalancer-ip=true]}]`;
    const workload = (router: string): string =>
      `apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: kube-router, namespace: kube-system}\nspec: {template: {spec: {${script}, ${container(router)}}}}\n`;
    const read = await importingText(workload('192.0.2.1'));
    expect(read.stderr).not.toContain('is a template');
    expect(parseAllDocuments(read.stdout).map((one) => (one.toJS() as { kind: string }).kind)).toContain('BGPPeer');
    expect((await importingText(workload('"<CHANGE ME>"'))).stderr).toContain('is a template');
  });
});

test("Services of a class that is not Herald's are left to the program of that class", async () => {
  const tailscale =
    'apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: LoadBalancer, loadBalancerClass: tailscale, ports: [{port: 80}]}\n';
  const { stderr } = await importingText(`${pool}---\n${tailscale}`);
  expect(stderr).toContain(
    'of class tailscale: Herald leaves them to the program of that class, unless HeraldConfig has loadBalancerClass: tailscale',
  );
});

test('two clusters with peers of one name in one input have one advertisement', async () => {
  const cluster = `apiVersion: cilium.io/v2\nkind: CiliumBGPClusterConfig\nmetadata: {name: main}\nspec: {bgpInstances: [{name: a, localASN: 64512, peers: [{name: tor, peerASN: 65101, peerAddress: 192.0.2.1, peerConfigRef: {name: tor}}]}]}\n`;
  const config = `apiVersion: cilium.io/v2\nkind: CiliumBGPPeerConfig\nmetadata: {name: tor}\nspec: {families: [{afi: ipv4, safi: unicast, advertisements: {matchLabels: {a: b}}}]}\n`;
  const announced = `apiVersion: cilium.io/v2\nkind: CiliumBGPAdvertisement\nmetadata: {name: a, labels: {a: b}}\nspec: {advertisements: [{advertisementType: Service, service: {addresses: [LoadBalancerIP]}, selector: {matchLabels: {}}}]}\n`;
  const one = [cluster, config, announced].join('---\n');
  const { stdout, stderr } = await importingText(`${one}---\n${one}`);
  const kinds = parseAllDocuments(stdout).map((each) => (each.toJS() as { kind: string }).kind);
  expect(kinds.toSorted()).toEqual(['BGPAdvertisement', 'BGPPeer']);
  expect(stderr).not.toContain('appears twice');
});

describe('herald import', () => {
  test('reads a directory with several programs, and names each', async () => {
    await file('cilium/pool.yaml', `${pool}---\n${layer2}`);
    await file('old/values.yml', `configInline:\n  ${legacy}`);
    await file('old/unrelated.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: "b: {{ c }}"}\n');
    await file('.git/pool.yaml', pool.replace('name: a', 'name: hidden'));
    await symlink(directory, join(directory, 'loop'));
    const { code, stdout, stderr } = await importing(directory);
    expect(code).toBe(0);
    expect(parseAllDocuments(stdout).map((one) => one.toJS() as object)).toEqual([
      expect.objectContaining({ kind: 'IPAddressPool', metadata: { name: 'b' } }),
      expect.objectContaining({ kind: 'IPAddressPool', metadata: { name: 'a' } }),
      expect.objectContaining({ kind: 'L2Advertisement', metadata: { name: 'b' } }),
      expect.objectContaining({ kind: 'L2Advertisement', metadata: { name: 'a' } }),
    ]);
    expect(stderr).toMatch(/^MetalLB: 2 objects\nexact: IPAddressPool/m);
    expect(stderr).toMatch(/^Cilium: 2 objects\nexact: CiliumLoadBalancerIPPool\/a \(.*pool\.yaml:1\)\n/m);
    expect(stderr).toMatch(/^4 objects: 4 exact, 0 differs, 0 refused$/m);
  });

  const markdown = (fence: string, indent = ''): string =>
    [
      '# Pools',
      '',
      `${indent}${fence}yaml title="a"`,
      ...pool
        .trimEnd()
        .split('\n')
        .map((line) => indent + line),
      indent + fence,
      '',
      'kind: [broken',
    ].join('\n');

  test.each([
    ['```', ''],
    ['~~~~', ''],
    ['```', '   '],
  ])('reads the blocks of a Markdown file that is named: %s with indentation "%s"', async (fence, indent) => {
    const path = await file('README.md', `${markdown(fence, indent)}\n${fence}sh\nkind: CiliumLoadBalancerIPPool\n${fence}\n`);
    const { code, stdout, stderr } = await importing(path);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^exact: CiliumLoadBalancerIPPool\/a \(.*README\.md:4\)$/m)]);
    expect(parseAllDocuments(stdout)).toHaveLength(1);
  });

  test('says in one line that blocks in Markdown below a directory are not read', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await file(`docs/${name}.md`, markdown('```'));
    await file('docs/other.md', '```yaml\nkind: Deployment\n```\nkind: CiliumLoadBalancerIPPool\n');
    const alone = await importing(directory);
    expect(alone.code).toBe(1);
    expect(alone.stderr).toMatch(/^note: blocks of YAML in Markdown are not read .*a\.md, .*b\.md, .*c\.md and 1 more files/m);
    await file('pool.yaml', `${pool}---\n${layer2}`);
    const { code, stderr } = await importing(directory);
    expect(code).toBe(0);
    expect(stderr.match(/Markdown/g)).toHaveLength(1);
  });

  test.each<[string, number, string, string]>([
    ['nothing lost', 0, `${pool}---\n${layer2}`, 'exact: CiliumLoadBalancerIPPool/a'],
    ['a lost field', 3, pool.replace('spec: {', 'spec: {priority: 1, '), 'spec.priority: is not a field of CiliumLoadBalancerIPPool'],
    ['a refused object', 3, pool.replace('192.0.2.0/24', '127.0.0.0/8'), 'refused: CiliumLoadBalancerIPPool/a'],
    ['an unknown document', 1, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n', 'has no configuration of MetalLB'],
    ['no document', 1, '', 'has no configuration of MetalLB'],
    ['broken YAML', 1, 'kind: CiliumLoadBalancerIPPool\na: [', 'standard input:2 is not valid YAML'],
    [
      'a placeholder',
      1,
      pool.replace('192.0.2.0/24', '"${CIDR}"'),
      'CiliumLoadBalancerIPPool/a (standard input:1) is a template: render it first',
    ],
    ['one placeholder of two', 3, `${pool.replace('192.0.2.0/24', '"${CIDR}"')}---\n${layer2}`, 'is a template: render it first'],
    ['a variable', 1, pool.replace('192.0.2.0/24', '"$pools"'), 'is a template: render it first'],
    ['an encrypted value', 1, pool.replace('192.0.2.0/24', '"ENC[AES256_GCM,data:x]"'), 'is encrypted: decrypt it first'],
    [
      'a Service with an address of DHCP',
      3,
      'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, loadBalancerClass: kube-vip.io/kube-vip-class, loadBalancerIP: 0.0.0.0, ports: [{port: 80}]}\n',
      'spec.loadBalancerIP: is 0.0.0.0, by which kube-vip takes an address from a DHCP server',
    ],
    [
      'a Service of another class',
      0,
      'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, loadBalancerClass: kube-vip.io/kube-vip-class, clusterIP: 10.96.0.7, ports: [{port: 80}]}\n',
      '1 Service of type LoadBalancer of class kube-vip.io/kube-vip-class',
    ],
    ['Helm', 1, `{{- if .Values.lb }}\n${pool}{{- end }}\n`, 'standard input is a template: render it first'],
    ['Jinja', 1, `{% for p in pools %}\n${pool}\n{% endfor %}\n`, 'standard input is a template: render it first'],
    ['a broken template', 1, pool.replace('192.0.2.0/24', '{{ cidr }}'), 'standard input is a template: render it first'],
  ])('of %s exits with %i', async (_, status, text, line) => {
    const { code, stdout, stderr } = await importingText(text, '-o', 'report');
    expect([code, stdout + stderr]).toEqual([status, expect.stringContaining(line)]);
    expect((stdout + stderr).split('template').length).toBeLessThan(3);
  });

  test('a template with many mistakes is one line, and templates of other things are none', async () => {
    await file('a/metallb.yaml.j2', `${'  - {{ x }}: [\n'.repeat(50)}kind: IPAddressPool\n`);
    await file('a/other.yaml', '{{ if }}\nkind: Deployment\n');
    await file('a/pool.yaml', `${pool}---\n${layer2}`);
    const { code, stdout } = await importing(directory, '-o', 'report');
    expect(code).toBe(3);
    expect(stdout.split('\n').filter((line) => line.startsWith('problem'))).toEqual([
      expect.stringContaining('metallb.yaml.j2 is a template'),
    ]);
  });

  test('an alias as a key is valid YAML', async () => {
    const text = `x: &app web\n---\n${pool.replace('metadata: {name: a}', 'metadata:\n  name: &app a\n  labels:\n    *app : b\n    other: *app')}---\n${layer2}`;
    expect(await importingText(text)).toMatchObject({ code: 0 });
  });

  test('marks of ownership are not copied, and a selector that needs one is lost', async () => {
    const metallb = (kind: string, name: string, spec: string): string =>
      `apiVersion: metallb.io/v1beta1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  labels: {app.kubernetes.io/instance: lb, kustomize.toolkit.fluxcd.io/name: x, tier: edge}\n  annotations: {argocd.argoproj.io/sync-wave: "1", meta.helm.sh/release-name: x}\nspec: ${spec}\n`;
    const selector = '{ipAddressPoolSelectors: [{matchLabels: {app.kubernetes.io/instance: lb}}]}';
    const text = `${metallb('IPAddressPool', 'a', '{addresses: [192.0.2.0/28]}')}---\n${metallb('L2Advertisement', 'a', selector)}`;
    const { code, stdout, stderr } = await importingText(text);
    expect(code).toBe(3);
    expect(stdout).not.toMatch(/argocd|toolkit|meta\.helm|annotations/);
    expect(stdout).toContain('tier: edge');
    expect(stderr).toContain('selects by app.kubernetes.io/instance');
  });

  test('two objects that would have one name are not merged', async () => {
    const { code, stdout, stderr } = await importingText(`${pool}---\n${pool.replace('192.0.2', '203.0.113')}---\n${layer2}`);
    expect([code, parseAllDocuments(stdout).length]).toEqual([3, 2]);
    expect(stderr).toContain('would be a second IPAddressPool "a"');
  });

  test('pools of two programs that overlap are reported', async () => {
    const { code, stderr } = await importingText(`${pool}---\n${layer2}---\n${legacy.replace('198.51.100', '192.0.2')}`);
    expect([code, stderr]).toEqual([3, expect.stringContaining('IPAddressPool "a" overlaps IPAddressPool "b"')]);
  });

  test('a path that cannot be read and a missing path are mistakes', async () => {
    expect(await importing(join(directory, 'none'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be read: ENOENT') as string,
    });
    expect(await importing()).toMatchObject({ code: 64, stderr: expect.stringContaining('name files, directories, or -') as string });
  });

  test('a file that is too large is not read, and the others are', async () => {
    await file('large.yaml', `${pool}#${'x'.repeat(8 * 1024 * 1024)}`);
    await file('small.yaml', `${pool}---\n${layer2}`);
    const { code, stdout } = await importing(directory, '-o', 'report');
    expect([code, stdout]).toEqual([3, expect.stringContaining('large.yaml is larger than 8 MiB')]);
  });

  test('a Service with a placeholder is a template, and an advertisement of a templated pool says that', async () => {
    const metallb = (kind: string, spec: string): string =>
      `apiVersion: metallb.io/v1beta1\nkind: ${kind}\nmetadata: {name: a}\nspec: ${spec}\n---\n`;
    const service =
      'apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {lbipam.cilium.io/ips: "${IP}"}}\nspec: {type: LoadBalancer}\n';
    const text = `${metallb('IPAddressPool', '{addresses: ["${CIDR}"]}')}${metallb('L2Advertisement', '{ipAddressPools: [a]}')}${service}`;
    const { code, stdout } = await importingText(text, '-o', 'report');
    expect(code).toBe(3);
    expect(stdout).toContain('Service default/web (standard input:11) is a template: render it first');
    expect(stdout).toContain('names IPAddressPool "a", which was not imported');
    expect(stdout).not.toContain('kubectl annotate');
  });

  test('what a program writes itself is a note', async () => {
    const { code, stdout } = await importingText(
      'apiVersion: metallb.io/v1beta1\nkind: ConfigurationState\nmetadata: {name: a}\n',
      '-o',
      'report',
    );
    expect([code, stdout]).toEqual([0, expect.stringContaining('is written by MetalLB, and configures nothing')]);
  });

  test('Services of files, which no API server has completed, are counted and listed with their addresses', async () => {
    const service = (name: string, more: string): string =>
      `---\napiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: {type: LoadBalancer, ports: [{port: 80}]${more}}\n`;
    const kept = `${pool}---\n${layer2}${service('web', ', loadBalancerIP: 192.0.2.7')}${service('dns', '')}`;
    const { code, stdout } = await importingText(kept, '-o', 'report');
    expect(code).toBe(0);
    expect(stdout).toContain('  default/web (standard input:11): asks for 192.0.2.7; the same of IPAddressPool a: pinned');
    expect(stdout).toContain('; 2 Services of type LoadBalancer');
    const lost = await importingText(kept.replace('192.0.2.7', '203.0.113.7'), '-o', 'json');
    expect(lost.code).toBe(3);
    expect(JSON.parse(lost.stdout)).toMatchObject({ addresses: [{ service: 'default/web', outcome: 'none' }, { outcome: 'new' }] });
    const alone = await importingText(service('web', ''), '-o', 'report');
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('; its Service of type LoadBalancer asks for no address')]);
    expect(await importingText(service('web', ', loadBalancerIP: 192.0.2.7'), '-o', 'report')).toMatchObject({ code: 0 });
  });

  test('-o json names the program of each object', async () => {
    const { stdout } = await importingText(`${pool}---\n${layer2}`, '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ objects: [{ tool: 'Cilium', object: 'CiliumLoadBalancerIPPool/a', verdict: 'exact' }, {}] });
  });
});
