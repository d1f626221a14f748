import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../lab/command.ts';
import { valuesOf, type ClusterPlan } from './description.ts';

/** Users of the API server that prove themselves by a certificate, by the name of their kubeconfig file, with their subjects. */
export const users = (plan: ClusterPlan): ReadonlyMap<string, string> =>
  new Map([
    ['admin', '/O=system:masters/CN=admin'],
    ['kube-controller-manager', '/CN=system:kube-controller-manager'],
    ['kube-scheduler', '/CN=system:kube-scheduler'],
    ['kube-proxy', '/CN=system:kube-proxy'],
    // The API server itself, at the kubelets.
    ['kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client'],
    ...plan.nodes.map(({ name }): [string, string] => [name, `/O=system:nodes/CN=system:node:${name}`]),
  ]);

/** Names and addresses of the API server. */
export const serverNames = (plan: ClusterPlan): readonly string[] => [
  ...['127.0.0.1', '::1', ...valuesOf(plan.tor), ...valuesOf(plan.apiServer), ...valuesOf(plan.apiService)].map(
    (address) => `IP:${address}`,
  ),
  ...['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local', 'localhost'].map(
    (name) => `DNS:${name}`,
  ),
];

/**
 * The keys and certificates of a cluster, made by openssl in one directory: `ca`, `api-server`, `front-proxy` and one for each user, as NAME.key and
 * NAME.crt; `service-account.key` and `.pub`; and NAME.kubeconfig for each user.
 */
export class Pki {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async create(directory: string, plan: ClusterPlan): Promise<Pki> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const pki = new Pki(directory);
    await pki.#openssl(['req', '-x509', ...newKey('ca'), '-out', 'ca.crt', '-days', days, '-subj', '/CN=cluster-ca', ...authority]);
    await pki.#issue('api-server', '/CN=kube-apiserver', ['extendedKeyUsage=serverAuth', `subjectAltName=${serverNames(plan).join()}`]);
    await pki.#issue('front-proxy', '/CN=front-proxy', ['extendedKeyUsage=clientAuth']);
    for (const [name, subject] of users(plan)) {
      await pki.#issue(name, subject, ['extendedKeyUsage=clientAuth']);
      writeFileSync(pki.kubeconfig(name), pki.#kubeconfigText(name, plan.server), { mode: 0o600 });
    }
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    writeFileSync(pki.key('service-account'), privateKey, { mode: 0o600 });
    writeFileSync(join(directory, 'service-account.pub'), publicKey);
    return pki;
  }

  key(name: string): string {
    return join(this.directory, `${name}.key`);
  }

  certificate(name: string): string {
    return join(this.directory, `${name}.crt`);
  }

  kubeconfig(user: string): string {
    return join(this.directory, `${user}.kubeconfig`);
  }

  async #issue(name: string, subject: string, extensions: readonly string[]): Promise<void> {
    await this.#openssl(['req', ...newKey(name), '-out', `${name}.csr`, '-subj', subject]);
    const issued = ['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', days];
    writeFileSync(join(this.directory, `${name}.ext`), `${extensions.join('\n')}\n`);
    await this.#openssl([...issued, '-out', `${name}.crt`, '-extfile', `${name}.ext`]);
  }

  async #openssl(args: readonly string[]): Promise<void> {
    await run(['openssl', ...args], { cwd: this.directory });
  }

  /** The certificates are in the file itself, so that it is also valid in a container. */
  #kubeconfigText(user: string, server: string): string {
    const data = (path: string): string => readFileSync(path).toString('base64');
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': data(this.certificate('ca')) } }],
      users: [{ name: user, user: { 'client-certificate-data': data(this.certificate(user)), 'client-key-data': data(this.key(user)) } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user } }],
      'current-context': 'test',
    });
  }
}

const days = '30';

const newKey = (name: string): readonly string[] => {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  return [...curve, '-nodes', '-keyout', `${name}.key`];
};

const authority: readonly string[] = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'].flatMap((extension) => [
  '-addext',
  extension,
]);
