import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { LabProcess } from '../../../../test/lab/lab-process.ts';
import { killedWithParent } from '../../../../test/conformance/foreground.ts';
import { clusterName, credentials, type Account } from './account.ts';
import { Moto } from './moto.ts';
import { makeAccount } from './moto-account.ts';
import { motoCloud } from './moto-cloud.ts';
import { readAccountState, type AccountState } from './scenarios/account-state.ts';

const program = join(import.meta.dirname, '../../../../bin/herald');

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory of manifests whose nodes are instances of an account in moto, and Herald's commands for both. */
export class DirectoryFixture {
  readonly moto: Moto;
  readonly account: Account;
  readonly directory: string;
  readonly #environment: Readonly<Record<string, string>>;
  #controller: LabProcess | undefined;

  private constructor(moto: Moto, account: Account) {
    this.moto = moto;
    this.account = account;
    this.directory = mkdtempSync(join(tmpdir(), 'herald-aws-'));
    this.#environment = {
      AWS_ENDPOINT_URL: moto.endpoint,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    };
    const nodes = account.nodes.map(({ instance, zone }, index) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${index}` },
      spec: { providerID: `aws:///${zone}/${instance}` },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    }));
    const namespaces = ['default', 'prod'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
    // By default Services without a class in a directory belong to address pools.
    const config = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'HeraldConfig',
      metadata: { name: 'default' },
      spec: { defaultClass: false },
    };
    this.write('cluster.yaml', [config, ...nodes, ...namespaces]);
  }

  static async start(): Promise<DirectoryFixture> {
    const moto = await Moto.start();
    return new DirectoryFixture(moto, await makeAccount(moto));
  }

  async stop(): Promise<void> {
    await this.stopController();
    await this.moto.stop();
    rmSync(this.directory, { recursive: true });
  }

  write(file: string, objects: readonly object[]): void {
    writeFileSync(join(this.directory, file), objects.map((one) => `---\n${stringify(one)}`).join(''));
  }

  /** Starts the controller as for a new cluster: region and VPC are found by its nodes. */
  async startController({ options = [] }: { options?: readonly string[] } = {}): Promise<void> {
    const argv = [program, 'controller', '--source', this.directory, '--aws-cluster-name', clusterName, ...options];
    this.#controller = new LabProcess(killedWithParent(argv), {
      logFile: join(this.directory, '.herald-controller.log'),
      record: () => undefined,
      env: this.#environment,
    });
    await this.#controller.waitForLine(/controller started/, 60_000);
  }

  async stopController(): Promise<void> {
    await this.#controller?.stop();
    this.#controller = undefined;
  }

  /** Runs a command to its end, with the options that select the AWS account. */
  herald(...command: readonly string[]): Promise<Answer> {
    const options = { timeout: 120_000, killSignal: 'SIGKILL', env: { ...process.env, ...this.#environment } } as const;
    return new Promise((resolve) => {
      execFile(program, [...command, '--aws-cluster-name', clusterName], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  accountState(): Promise<AccountState> {
    return readAccountState(motoCloud(this.moto), this.account.vpcId);
  }

  /** Returns the hostname in the status of a Service. "": there is none yet. */
  hostname(key: string): string {
    const record = parse(readFileSync(join(this.directory, `.herald/status/services/${key}.yaml`), 'utf8')) as {
      readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly hostname?: string }[] } };
    };
    return record.status?.loadBalancer?.ingress?.[0]?.hostname ?? '';
  }
}
