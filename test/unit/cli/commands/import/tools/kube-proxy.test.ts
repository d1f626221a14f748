import { describe, expect, test } from 'vitest';
import { importCommand } from '../../../../../../src/cli/commands/import/import-command.ts';
import { kubeProxyArguments } from '../../../../../../src/cli/commands/import/sources/command-lines.ts';
import { configurationKind, flagsKind } from '../../../../../../src/cli/commands/import/tools/kube-proxy/settings.ts';
import { inProcess } from '../../../in-process.ts';
import type { Outcome } from '../../../program.ts';
import { configMap, documentsOf, losses, object, remarks, specs } from '../documents.ts';

const configuration = (fields: object): object => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  ...fields,
});
const daemonSet = (container: object, kind = 'DaemonSet'): object => {
  const pod = { containers: [{ name: 'a', ...container }] };
  return object('apps/v1', kind, 'kube-proxy', kind === 'Pod' ? pod : { template: { spec: pod } });
};
const image = 'registry.k8s.io/kube-proxy:v1.36.2';
const config = (...documents: readonly unknown[]): unknown => specs(...documents)['HeraldConfig/default'];
const everywhere = ['0.0.0.0/0', '::/0'];

/** Every field of config/v1alpha1/types.go of k8s.io/kube-proxy, and of the types that it embeds. */
const upstream =
  `featureGates clientConnection.kubeconfig clientConnection.acceptContentTypes clientConnection.contentType clientConnection.qps
clientConnection.burst logging.format logging.flushFrequency logging.verbosity logging.vmodule logging.options hostnameOverride bindAddress
healthzBindAddress metricsBindAddress bindAddressHardFail enableProfiling showHiddenMetricsForVersion mode iptables.masqueradeBit
iptables.masqueradeAll iptables.localhostNodePorts iptables.syncPeriod iptables.minSyncPeriod ipvs.syncPeriod ipvs.minSyncPeriod
ipvs.scheduler ipvs.excludeCIDRs ipvs.strictARP ipvs.tcpTimeout ipvs.tcpFinTimeout ipvs.udpTimeout nftables.masqueradeBit
nftables.masqueradeAll nftables.syncPeriod nftables.minSyncPeriod winkernel.networkName winkernel.sourceVip winkernel.enableDSR
winkernel.rootHnsEndpointName winkernel.forwardHealthCheckVip detectLocalMode detectLocal.bridgeInterface detectLocal.interfaceNamePrefix
clusterCIDR nodePortAddresses oomScoreAdj conntrack.maxPerCore conntrack.min conntrack.tcpEstablishedTimeout conntrack.tcpCloseWaitTimeout
conntrack.tcpBeLiberal conntrack.udpTimeout conntrack.udpStreamTimeout configSyncPeriod portRange windowsRunAsService`.split(/\s+/);

/** Flags of cmd/kube-proxy/app/options.go of Kubernetes, without those of logging. */
const upstreamFlags = `config write-config-to cleanup feature-gates kubeconfig master kube-api-content-type kube-api-burst kube-api-qps
hostname-override bind-address healthz-bind-address metrics-bind-address bind-address-hard-fail profiling show-hidden-metrics-for-version
init-only proxy-mode iptables-masquerade-bit masquerade-all iptables-localhost-nodeports iptables-sync-period iptables-min-sync-period
ipvs-sync-period ipvs-min-sync-period ipvs-scheduler ipvs-exclude-cidrs ipvs-strict-arp ipvs-tcp-timeout ipvs-tcpfin-timeout
ipvs-udp-timeout detect-local-mode pod-bridge-interface pod-interface-name-prefix cluster-cidr nodeport-addresses oom-score-adj
conntrack-max-per-core conntrack-min conntrack-tcp-timeout-established conntrack-tcp-timeout-close-wait conntrack-tcp-be-liberal
conntrack-udp-timeout conntrack-udp-timeout-stream config-sync-period healthz-port metrics-port`.split(/\s+/);

describe('the tables of kube-proxy', () => {
  test('have every field and flag of kube-proxy', () => {
    const [fields, flags] = [configurationKind, flagsKind].map((kind) => new Set(kind.fields.map(({ field }) => field)));
    expect(upstream.filter((field) => fields?.has(field) !== true)).toEqual([]);
    expect(upstreamFlags.filter((field) => flags?.has(field) !== true)).toEqual([]);
  });
});

describe('a KubeProxyConfiguration', () => {
  test('as kubeadm writes it loses no field, and becomes the scope of services only', () => {
    const [zero, unset] = ['0s', null];
    const kubeadm = configuration({
      bindAddress: '0.0.0.0',
      bindAddressHardFail: false,
      clientConnection: { acceptContentTypes: '', burst: 0, contentType: '', kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf', qps: 0 },
      clusterCIDR: '10.244.0.0/16',
      configSyncPeriod: zero,
      conntrack: {
        maxPerCore: unset,
        min: unset,
        tcpBeLiberal: false,
        tcpCloseWaitTimeout: unset,
        udpStreamTimeout: zero,
        udpTimeout: zero,
      },
      detectLocal: { bridgeInterface: '', interfaceNamePrefix: '' },
      detectLocalMode: '',
      healthzBindAddress: '',
      iptables: { localhostNodePorts: unset, masqueradeAll: false, masqueradeBit: unset, minSyncPeriod: zero, syncPeriod: zero },
      ipvs: { excludeCIDRs: unset, scheduler: '', strictARP: false, tcpFinTimeout: zero, tcpTimeout: zero, udpTimeout: zero },
      logging: { flushFrequency: 0, options: { json: { infoBufferSize: '0' } }, verbosity: 0 },
      metricsBindAddress: '',
      mode: '',
      nodePortAddresses: unset,
      oomScoreAdj: unset,
      winkernel: { enableDSR: false, networkName: '' },
    });
    expect(losses(kubeadm)).toEqual([]);
    expect(config(kubeadm)).toEqual({ services: 'all', podCIDRs: ['10.244.0.0/16'], nodePortAddresses: everywhere });
  });

  test.each<[object, object, readonly string[]]>([
    [{ mode: 'ipvs' }, { loadBalancing: 'round-robin' }, []],
    [{ mode: 'ipvs', ipvs: { scheduler: 'wrr' } }, { loadBalancing: 'weighted-round-robin' }, []],
    [{ mode: 'ipvs', ipvs: { scheduler: 'sh' } }, { loadBalancing: 'source-hash' }, []],
    [{ mode: 'ipvs', ipvs: { scheduler: 'dh' } }, { loadBalancing: 'destination-hash' }, []],
    [{ mode: 'ipvs', ipvs: { scheduler: 'mh' } }, { loadBalancing: 'consistent' }, []],
    [{ mode: 'ipvs', ipvs: { scheduler: 'lblcr' } }, {}, ['differs ipvs.scheduler: is lblcr, which Herald does not have']],
    [{ mode: 'iptables', ipvs: { scheduler: 'sh' } }, {}, []],
    [{ mode: 'userspace' }, {}, []],
    [{ iptables: { masqueradeAll: true, masqueradeBit: 15 } }, { masqueradeAll: true, masqueradeBit: 15 }, []],
    [{ iptables: { masqueradeBit: 32 } }, undefined as never, ['refused HeraldConfig default spec.masqueradeBit']],
    [{ mode: 'nftables', nftables: { masqueradeBit: 0 }, iptables: { masqueradeBit: 7 } }, { masqueradeBit: 0 }, []],
    [{ clusterCIDR: '10.244.1.0/16, fd00:244::1/56' }, { podCIDRs: ['10.244.0.0/16', 'fd00:244::/56'] }, []],
    [{ clusterCIDR: '10.244.0.0/33' }, undefined as never, ['refused HeraldConfig default spec.podCIDRs[0]']],
    [{ detectLocalMode: 'NodeCIDR', clusterCIDR: '10.0.0.0/8' }, {}, []],
    [{ detectLocalMode: 'BridgeInterface', detectLocal: { bridgeInterface: 'cni0' } }, { podInterfaces: ['cni0'] }, []],
    [{ detectLocalMode: 'InterfaceNamePrefix', detectLocal: { interfaceNamePrefix: 'cali' } }, { podInterfaces: ['cali*'] }, []],
    [{ detectLocalMode: 'Other' }, {}, ['differs detectLocalMode: is Other']],
    [
      {
        conntrack: {
          maxPerCore: 0,
          min: 9,
          tcpEstablishedTimeout: '2h0m0s',
          tcpCloseWaitTimeout: '60s',
          udpTimeout: '30s',
          udpStreamTimeout: '1.5s',
        },
      },
      { conntrack: { maxPerCore: 0, min: 9, tcpEstablishedSeconds: 7200, tcpCloseWaitSeconds: 60, udpSeconds: 30, udpStreamSeconds: 2 } },
      [],
    ],
    [{ conntrack: { tcpBeLiberal: true } }, {}, ['differs conntrack.tcpBeLiberal']],
    [{ conntrack: { udpTimeout: '30' } }, {}, ['refused conntrack.udpTimeout: is a duration needs a unit']],
    [
      { mode: 'ipvs', ipvs: { udpTimeout: '5m0s', tcpTimeout: '48h' } },
      { loadBalancing: 'round-robin', conntrack: { tcpEstablishedSeconds: 172_800, udpSeconds: 300, udpStreamSeconds: 300 } },
      [],
    ],
    [
      { mode: 'ipvs', ipvs: { tcpTimeout: '15m', tcpFinTimeout: '1m' } },
      { loadBalancing: 'round-robin' },
      ['differs ipvs.tcpTimeout: is 900 s: with Herald an idle TCP connection is kept for 86400 s', 'differs ipvs.tcpFinTimeout'],
    ],
    [{ winkernel: { enableDSR: true } }, {}, ['differs winkernel.enableDSR: is about nodes with Windows']],
    [{ somethingNew: 1 }, {}, ['differs somethingNew: is not a field of KubeProxyConfiguration']],
  ])('%j', (fields, expected, lost) => {
    const one = configuration({ nodePortAddresses: ['primary'], ...fields });
    expect(losses(one)).toEqual(lost.map((line) => expect.stringContaining(line) as string));
    expect(config(one)).toEqual(expected === undefined ? undefined : { services: 'all', ...expected });
  });

  test.each<[string, readonly string[] | undefined, object, number]>([
    ['iptables', undefined, { nodePortAddresses: everywhere }, 0],
    ['ipvs', undefined, { nodePortAddresses: everywhere, loadBalancing: 'round-robin' }, 0],
    ['nftables', undefined, {}, 0],
    ['nftables', ['primary'], {}, 0],
    ['nftables', ['all'], { nodePortAddresses: everywhere }, 0],
    ['nftables', ['primary', 'localhost'], { localhostNodePorts: true }, 0],
    ['ipvs', ['localhost', '10.0.0.1/8', 'fd00::/8'], { nodePortAddresses: ['10.0.0.0/8', 'fd00::/8'], loadBalancing: 'round-robin' }, 0],
    ['iptables', ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'], { nodePortAddresses: ['10.0.0.0/8', 'fd00::/8'], localhostNodePorts: true }, 0],
    ['iptables', ['10.0.0.0/8'], { nodePortAddresses: ['10.0.0.0/8', '::/0'] }, 0],
    ['iptables', ['fd00::/8'], { nodePortAddresses: ['fd00::/8', '0.0.0.0/0'] }, 0],
    ['nftables', ['primary', '10.0.0.0/8', 'fd00::/8'], { nodePortAddresses: ['10.0.0.0/8', 'fd00::/8'] }, 1],
  ])('accepts NodePorts in %s mode at %j', (mode, nodePortAddresses, expected, lost) => {
    const one = configuration({ mode, nodePortAddresses });
    expect(losses(one)).toHaveLength(lost);
    expect(config(one)).toEqual({ services: 'all', ...expected });
  });

  test('of Windows is refused, and another mode is named', () => {
    expect(config(configuration({ mode: 'kernelspace' }))).toBeUndefined();
    expect(losses(configuration({ mode: 'kernelspace' }))).toEqual([expect.stringContaining('refused mode: is kernelspace')]);
  });

  test.each([
    [{ mode: 'iptables', ipvs: { scheduler: 'sh' } }, 'note ipvs.scheduler: has no effect in iptables mode'],
    [{ mode: 'ipvs', nftables: { masqueradeAll: true } }, 'note nftables.masqueradeAll: has no effect in ipvs mode'],
    [{ detectLocalMode: 'NodeCIDR', clusterCIDR: '10.0.0.0/8' }, 'note clusterCIDR: has no effect with detectLocalMode NodeCIDR'],
    [{ mode: 'ipvs' }, 'note ipvs.udpTimeout: is not set, so IPVS keeps a UDP flow with its endpoint for 300 s'],
    [{}, 'note iptables.localhostNodePorts: is not set, so programs on the node reach NodePorts at 127.0.0.1'],
    [{ ipvs: { strictARP: true } }, 'note ipvs.strictARP: is not needed'],
    [{}, 'note mode: is iptables: the HeraldConfig has services: all'],
  ])('%j has a note that says what it means', (fields, line) => {
    expect(remarks(configuration(fields))).toContainEqual(expect.stringContaining(line));
  });

  test.each<[object, readonly string[] | undefined]>([
    [{}, undefined],
    [{ healthzBindAddress: '0.0.0.0:10256', metricsBindAddress: '127.0.0.1:10249' }, undefined],
    [{ healthzBindAddress: '::', metricsBindAddress: '[::]:10249' }, ['--healthz-bind-address=[::]:10256', '--metrics-address=[::]:10290']],
    [
      { healthzBindAddress: '192.0.2.1:9', metricsBindAddress: '0.0.0.0:9249' },
      ['--healthz-bind-address=192.0.2.1:9', '--metrics-address=0.0.0.0:9249'],
    ],
  ])('%j gives options of the agents', (fields, options) => {
    expect(documentsOf(configuration(fields)).map(({ agentOptions }) => agentOptions)).toEqual([options]);
  });
});

describe('kube-proxy is found', () => {
  const scheduler = { services: 'all', nodePortAddresses: everywhere, loadBalancing: 'source-hash' };
  const args = ['--proxy-mode=ipvs', '--ipvs-scheduler', 'sh', '--hostname-override=$(NODE_NAME)', '--v=2'];

  test.each<[string, object]>([
    [
      'a ConfigMap of kubeadm',
      configMap('kube-proxy', { 'config.conf': configuration({ mode: 'ipvs', ipvs: { scheduler: 'sh' } }) }, 'kube-system'),
    ],
    [
      'a ConfigMap of EKS',
      configMap('kube-proxy-config', { config: configuration({ mode: 'ipvs', ipvs: { scheduler: 'sh' } }) }, 'kube-system'),
    ],
    ['the arguments of a DaemonSet', daemonSet({ image, args })],
    ['the command of a static Pod', daemonSet({ image: 'rancher/hardened-kubernetes:v1.36', command: ['kube-proxy', ...args] }, 'Pod')],
    [
      'a line for a shell',
      daemonSet({ image: 'k8s.gcr.io/kube-proxy-amd64:v1', command: ['/bin/sh', '-c', `kube-proxy ${args.join(' ')} 1>>/a 2>&1`] }),
    ],
    ['kube-proxy-arg of k3s', { 'kube-proxy-arg': ['proxy-mode=ipvs', 'ipvs-scheduler=sh'] }],
    ['kube-proxy-arg in variables of Ansible', { k3s_server: { 'kube-proxy-arg': ['proxy-mode=ipvs', '--ipvs-scheduler=sh'] } }],
    ['kube-proxy-arg+ of k3s', { 'kube-proxy-arg': 'proxy-mode=ipvs', 'kube-proxy-arg+': ['ipvs-scheduler=sh'] }],
  ])('in %s', (_, document) => {
    expect([losses(document), config(document)]).toEqual([[], scheduler]);
  });

  test('with its flags, as with its fields', () => {
    const flags = [
      '--cluster-cidr=10.244.0.0/16,fd00::/56',
      '--nodeport-addresses=10.0.0.0/8,fd00::/8',
      '--masquerade-all',
      '--proxy-mode=nftables',
      '--conntrack-min=7',
      '--ipvs-scheduler=lc',
    ];
    const one = daemonSet({ image, args: flags });
    expect(losses(one)).toEqual([]);
    expect(config(one)).toEqual({
      services: 'all',
      podCIDRs: ['10.244.0.0/16', 'fd00::/56'],
      nodePortAddresses: ['10.0.0.0/8', 'fd00::/8'],
      masqueradeAll: true,
      conntrack: { min: 7 },
    });
    expect(documentsOf(daemonSet({ image, args: ['--healthz-port=0', '--metrics-port=0'] }))[0]?.agentOptions).toEqual([
      '--healthz-bind-address=none',
      '--metrics-address=none',
    ]);
  });

  test('with a file of settings, which counts alone', () => {
    const one = daemonSet({ image, command: ['kube-proxy', '--config=/var/lib/kube-proxy/config.conf', '--proxy-mode=ipvs'] });
    expect([losses(one), config(one)]).toEqual([[], undefined]);
    expect(remarks(one)).toEqual([expect.stringContaining('is /var/lib/kube-proxy/config.conf, a file beside which')]);
  });

  test('twice with the same settings, which are one HeraldConfig, and with others, which are named', () => {
    const [first, second] = [configuration({ mode: 'ipvs' }), configuration({ mode: 'nftables' })];
    expect(documentsOf(first, first).map(({ verdict, manifests }) => [verdict, manifests.length])).toEqual([
      ['exact', 1],
      ['exact', 0],
    ]);
    expect(losses(first, second)).toEqual([expect.stringContaining('would be a second HeraldConfig "default"')]);
  });

  test('not in other containers', () => {
    expect(documentsOf(daemonSet({ image: 'example.com/my-kube-proxy-exporter:1' }))).toEqual([]);
  });
});

describe('command lines of k3s', () => {
  test.each([
    ["k3s server --kube-proxy-arg=proxy-mode=ipvs --kube-proxy-arg 'ipvs-scheduler=sh'", ['proxy-mode=ipvs', 'ipvs-scheduler=sh'], 1],
    [
      "a\nExecStart=k3s \\\n    '--kube-proxy-arg=proxy-mode=ipvs' \\\n    '--kube-proxy-arg' \\\n    'v=2' \\\n",
      ['proxy-mode=ipvs', 'v=2'],
      3,
    ],
    [
      'args: ["--kube-proxy-arg=nodeport-addresses=10.0.0.0/8,fd00::/8", "--kube-proxy-arg=v=2"]',
      ['nodeport-addresses=10.0.0.0/8,fd00::/8', 'v=2'],
      1,
    ],
    ['  # --kube-proxy-arg=v=2\n- --kube-proxy-arg=proxy-mode=ipvs\n', ['proxy-mode=ipvs'], 2],
    ['kube-proxy-arg: [v=2]', [], 1],
  ])('%j', (text, words, line) => {
    expect(kubeProxyArguments(text)).toEqual({ words, line });
  });
});

describe('herald import kube-proxy', () => {
  const run = (text: string, ...words: readonly string[]): Promise<Outcome> =>
    inProcess(importCommand, words, { readInput: async () => text });
  const json = JSON.stringify(configuration({ mode: 'ipvs', healthzBindAddress: '127.0.0.1:10256' }));

  test('prints HeraldConfig, and the options of the agents in the report', async () => {
    const { code, stdout, stderr } = await run(json, 'kube-proxy', '-');
    expect(code).toBe(0);
    expect(stdout).toContain('kind: HeraldConfig\nmetadata:\n  name: default\nspec:\n  services: all\n');
    expect(stderr).toMatch(
      /^kube-proxy: 1 object\nexact: KubeProxyConfiguration \(.*\)\n {2}herald agent --healthz-bind-address=127\.0\.0\.1:10256\n/,
    );
  });

  test('is recognised without its name, and beside other programs', async () => {
    expect(await run(json, '-')).toMatchObject({ code: 0, stdout: expect.stringContaining('loadBalancing: round-robin') as string });
  });

  test('reads a unit of systemd', async () => {
    const { code, stdout, stderr } = await run(
      "ExecStart=/usr/local/bin/k3s server '--kube-proxy-arg=proxy-mode=nftables' \\\n\n",
      'kube-proxy',
      '-',
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining('exact: configuration (standard input:1)')]);
    expect(stdout).toContain('services: all');
  });

  test('has exit status 3 for losses, and the report alone with -o report', async () => {
    const lossy = JSON.stringify(configuration({ conntrack: { tcpBeLiberal: true } }));
    const { code, stdout, stderr } = await run(lossy, 'kube-proxy', '-', '-o', 'report');
    expect([code, stdout, stderr]).toEqual([3, expect.stringContaining('conntrack.tcpBeLiberal: has no equivalent'), '']);
  });

  test.each([['a: 1\n'], ['']])('says what it reads when %j has nothing of kube-proxy', async (text) => {
    const { code, stderr } = await run(text, 'kube-proxy', '-');
    expect([code, stderr]).toEqual([1, expect.stringContaining('- has no configuration of kube-proxy: give a KubeProxyConfiguration')]);
  });

  test('needs a path', async () => {
    expect(await run('', 'kube-proxy')).toMatchObject({ code: 64 });
  });
});
