import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { killedWithParent, foreground } from '../conformance/foreground.ts';
import { programPath } from '../conformance/programs.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace } from '../lab/namespace.ts';

/** Fields of KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1). */
export type KubeProxyConfig = Readonly<Record<string, unknown>>;

export interface KubeProxyOptions {
  /** A network namespace that `ip netns add` created, with loopback up. */
  readonly namespace: string;
  /** The address of an API server in that namespace: "http://127.0.0.1:34567". */
  readonly apiServer: string;
  readonly nodeName: string;
  /** Overrides the settings below: mode nftables, changes applied at once, kernel settings untouched. */
  readonly config?: KubeProxyConfig;
}

export interface KubeProxy {
  readonly process: LabProcess;
  /** Stops it by SIGTERM, or kills it. Its rules stay. */
  stop(how?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Starts the real kube-proxy as a process in a namespace. Its rules may take a second to appear. */
export function startKubeProxy({ namespace, apiServer, nodeName, config = {} }: KubeProxyOptions): KubeProxy {
  const directory = mkdtempSync(join(tmpdir(), 'herald-kube-proxy-'));
  const write = (name: string, content: object): string => {
    const file = join(directory, name);
    writeFileSync(file, JSON.stringify(content));
    return file;
  };
  const kubeconfig = write('kubeconfig', {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fixture', cluster: { server: apiServer } }],
    contexts: [{ name: 'fixture', context: { cluster: 'fixture' } }],
    'current-context': 'fixture',
  });
  const configFile = write('config', {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: nodeName,
    clientConnection: { kubeconfig, contentType: 'application/json' },
    // By default it waits a second after each change.
    nftables: { minSyncPeriod: '1ms' },
    // These settings belong to the machine and are not available in a namespace.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    ...config,
  });
  const command = killedWithParent([programPath('kube-proxy'), `--config=${configFile}`]);
  const running = foreground(inNamespace(namespace, command), join(directory, 'kube-proxy.log'));
  const removeDirectory = (): void => rmSync(directory, { recursive: true, force: true });
  // Also when a signal ends the caller, and kube-proxy with it.
  process.once('exit', removeDirectory);
  return {
    process: running,
    async stop(how = 'SIGTERM') {
      running.kill(how);
      await running.exited;
      process.off('exit', removeDirectory);
      removeDirectory();
    },
  };
}
