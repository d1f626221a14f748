import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { clusterName, region } from '../../test/moto/account.ts';
import { freePorts } from '../../../../test/conformance/free-port.ts';
import type { Contender, Surroundings } from './contender.ts';
import { startController } from './start-controller.ts';

/** The names by which LBC's --aws-api-endpoints knows the services that it calls for a Service. */
const services = ['EC2', 'Elastic Load Balancing v2', 'ACM', 'STS', 'Resource Groups Tagging API'];

/** The AWS Load Balancer Controller, from a source tree in which its user has built it. */
export class Lbc implements Contender {
  readonly name: string;
  readonly objects: readonly object[];
  readonly serviceTag = 'service.k8s.aws/stack';
  readonly #program: string;

  constructor(folder: string) {
    this.#program = join(folder, 'controller');
    const chart = join(folder, 'helm/aws-load-balancer-controller');
    const missing = [this.#program, join(chart, 'crds/crds.yaml')].find((file) => !existsSync(file));
    if (missing !== undefined)
      throw new Error(
        `${missing} is missing: --lbc takes a source tree of the AWS Load Balancer Controller in which you have run: CGO_ENABLED=0 go build -o controller .`,
      );
    const parsed = parseAllDocuments(readFileSync(join(chart, 'crds/crds.yaml'), 'utf8')).map((one) => one.toJS() as object | null);
    this.objects = parsed.filter((one) => one !== null);
    this.name = `LBC ${/^appVersion: v?(.+)$/m.exec(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))?.[1] ?? ''}`;
  }

  async start({ kubeconfig, vpcId, endpoint, directory, certificates }: Surroundings) {
    const [webhook, metrics, health] = await freePorts(3);
    const options = [
      `--kubeconfig=${kubeconfig}`,
      `--cluster-name=${clusterName}`,
      `--aws-region=${region}`,
      `--aws-vpc-id=${vpcId}`,
      `--aws-api-endpoints=${services.map((service) => `${service}=${endpoint}`).join(',')}`,
      '--enable-leader-election=false',
      '--enable-shield=false',
      '--enable-waf=false',
      '--enable-wafv2=false',
      // Its webhooks are not registered, but their server does not start without a certificate.
      `--webhook-cert-dir=${certificates}`,
      '--webhook-cert-file=apiserver.crt',
      '--webhook-key-file=apiserver.key',
      `--webhook-bind-port=${webhook}`,
      `--metrics-bind-addr=127.0.0.1:${metrics}`,
      `--health-probe-bind-addr=127.0.0.1:${health}`,
    ];
    return startController({
      argv: [this.#program, ...options],
      logFile: join(directory, 'lbc.log'),
      started: /Starting workers.*"controller":"service"/,
    });
  }
}
