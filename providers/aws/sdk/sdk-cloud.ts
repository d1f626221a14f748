import { ACMClient } from '@aws-sdk/client-acm';
import { EC2Client } from '@aws-sdk/client-ec2';
import { ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing';
import { ElasticLoadBalancingV2Client } from '@aws-sdk/client-elastic-load-balancing-v2';
import { defined } from '../../../src/lang/defined.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Cloud } from '../cloud/cloud.ts';
import type { Input, Operation, Output } from '../cloud/operations.ts';
import { acm } from './acm.ts';
import { classify } from './classify.ts';
import { ec2 } from './ec2.ts';
import { elb } from './elb.ts';
import { elbv2 } from './elbv2.ts';
import { Fence } from './fence.ts';
import { limits } from './limits.ts';
import { Pacer, type PacerComponents } from './pacer.ts';
import type { Command, Send } from './send.ts';

interface SdkCloudOptions {
  /** "eu-west-1" */
  readonly region: string;
  /** In place of AWS' own addresses. Absent: what AWS_ENDPOINT_URL and its kin say, as the SDK reads them. */
  readonly endpoint?: string;
  /** In place of the SDK's chain: environment, web identity (IRSA), Pod Identity, profiles, IMDS. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Named to AWS in each request, for whoever reads CloudTrail. */
  readonly version: string;
}

interface Client {
  readonly middlewareStack: { add(middleware: never, options: { step: 'deserialize'; priority: 'low'; name: string }): void };
  send(command: never): Promise<unknown>;
}

const services = { elbv2, elb, ec2, acm };
type Service = keyof typeof services;

/** AWS itself, by its SDK. Holds no decision: what is asked for is sent, at the pace of the account. */
export class SdkCloud implements Cloud {
  readonly #pacer: Pacer;
  readonly #clients: Readonly<Record<Service, Client>>;

  constructor(components: PacerComponents, options: SdkCloudOptions) {
    this.#pacer = new Pacer(components);
    const { region, endpoint, credentials, version } = options;
    const configuration = {
      region,
      ...defined({ endpoint, credentials }),
      // What is sent again, and when, is the pacer's alone.
      maxAttempts: 1,
      customUserAgent: [['herald', version]] as [string, string][],
      requestHandler: {
        connectionTimeout: limits.connectMilliseconds,
        requestTimeout: limits.answerMilliseconds,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: limits.connections, timeout: limits.idleMilliseconds },
        httpsAgent: { maxSockets: limits.connections, timeout: limits.idleMilliseconds },
        // It would write to the console.
        logger: sdkLogger(components.log),
      },
    };
    this.#clients = {
      elbv2: new ElasticLoadBalancingV2Client(configuration),
      elb: new ElasticLoadBalancingClient(configuration),
      ec2: new EC2Client(configuration),
      acm: new ACMClient(configuration),
    };
    const fence = new Fence(components.mayWrite);
    for (const [service, client] of Object.entries(this.#clients)) addFence(client, service as Service, fence);
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    const [service, name] = operation.split(':') as [Service, string];
    const client = this.#clients[service];
    const send: Send = (command) => this.#pacer.send(operation, aboutOf(input), () => answerOf(client, command));
    const operations = services[service] as Record<string, (input: Input<O>, send: Send) => Promise<Output<O>>>;
    try {
      return await (operations[name] ?? assertKnown(operation))(input, send);
    } catch (thrown) {
      // What the pacer has classified stays; the rest is an answer that could not be read.
      throw classify(operation, thrown);
    }
  }
}

/** A step of the SDK on the way of a request. */
type Step = (
  next: (request: unknown) => Promise<unknown>,
  context: { readonly commandName?: string },
) => (request: unknown) => Promise<unknown>;

/** The last step before a request is sent: credentials may have been looked for since the pacer asked, which takes its time. */
function addFence(client: Client, service: Service, fence: Fence): void {
  const step: Step = (next, { commandName = '' }) => {
    const operation = `${service}:${commandName.replace(/Command$/, '')}` as Operation;
    return (request) => {
      fence.assertMayWrite(operation);
      return next(request);
    };
  };
  client.middlewareStack.add(step as never, { step: 'deserialize', priority: 'low', name: 'heraldFence' });
}

/** Each command has the client of its service, by the tables of operations. */
async function answerOf<Answer extends object>(client: Client, command: Command<Answer>): Promise<Answer> {
  return (await client.send(command as never)) as Answer;
}

function sdkLogger(log: Log): { warn(...text: unknown[]): void } & Record<'trace' | 'debug' | 'info' | 'error', () => void> {
  const ignore = (): void => undefined;
  return { trace: ignore, debug: ignore, info: ignore, error: ignore, warn: (...text) => log.warn({ text: text.join(' ') }, 'AWS SDK') };
}

function assertKnown(operation: Operation): never {
  throw new TypeError(`${operation} is not an operation of the edge`);
}

/** Of a request, what the log shows: which things it is about, by AWS' names of them. Nothing that a user has written in it. */
const shown = new Set(['LoadBalancerArn', 'LoadBalancerName', 'TargetGroupArn', 'ListenerArn', 'Name', 'GroupId', 'GroupName', 'Port']);

function aboutOf(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([key]) => shown.has(key)));
}
