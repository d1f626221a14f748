import { ACMClient } from '@aws-sdk/client-acm';
import { ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing';
import { ElasticLoadBalancingV2Client } from '@aws-sdk/client-elastic-load-balancing-v2';
import { defined } from '../../../src/lang/defined.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Cloud } from '../cloud/cloud.ts';
import type { Input, Operation, Output } from '../cloud/operations.ts';
import { acm } from './acm.ts';
import { classify } from './classify.ts';
import { ec2Client } from './ec2-client/client.ts';
import { ec2 } from './ec2.ts';
import { elb } from './elb.ts';
import { elbv2 } from './elbv2.ts';
import { assertMayWrite } from './fence.ts';
import { limits } from './limits.ts';
import { Pacer, type PacerComponents } from './pacer.ts';
import type { Command, Send } from './send.ts';

interface SdkCloudOptions {
  /** For example "eu-west-1". */
  readonly region: string;
  /** Replaces AWS' endpoints. Absent: the SDK reads AWS_ENDPOINT_URL and related variables. */
  readonly endpoint?: string;
  /** Replaces the SDK's chain: environment, web identity (IRSA), Pod Identity, profiles, IMDS. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Sent to AWS in each request and visible in CloudTrail. */
  readonly version: string;
}

interface Client {
  readonly middlewareStack: { add(middleware: never, options: { step: 'deserialize'; priority: 'low'; name: string }): void };
  send(command: never): Promise<unknown>;
}

const services = { elbv2, elb, ec2, acm };
type Service = keyof typeof services;

/** AWS by its SDK. It makes no decisions: it sends each request at the rate that the account allows. */
export class SdkCloud implements Cloud {
  readonly #pacer: Pacer;
  readonly #clients: Readonly<Record<Service, Client>>;

  constructor(components: PacerComponents, options: SdkCloudOptions) {
    this.#pacer = new Pacer(components);
    const { region, endpoint, credentials, version } = options;
    const configuration = {
      region,
      ...defined({ endpoint, credentials }),
      // Only the pacer repeats requests.
      maxAttempts: 1,
      customUserAgent: [['herald', version]] as [string, string][],
      requestHandler: {
        connectionTimeout: limits.connectMilliseconds,
        requestTimeout: limits.answerMilliseconds,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: limits.connections, timeout: limits.idleMilliseconds },
        httpsAgent: { maxSockets: limits.connections, timeout: limits.idleMilliseconds },
        // The SDK's default logger writes to the console.
        logger: sdkLogger(components.log),
      },
    };
    this.#clients = {
      elbv2: new ElasticLoadBalancingV2Client(configuration),
      elb: new ElasticLoadBalancingClient(configuration),
      ec2: ec2Client(configuration),
      acm: new ACMClient(configuration),
    };
    for (const [service, client] of Object.entries(this.#clients)) addFence(client, service as Service, components.mayWrite);
  }

  async call<O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> {
    const [service, name] = operation.split(':') as [Service, string];
    const client = this.#clients[service];
    const send: Send = (command) => this.#pacer.send(operation, aboutOf(input), () => answerOf(client, command));
    const operations = services[service] as Record<string, (input: Input<O>, send: Send) => Promise<Output<O>>>;
    try {
      return await (operations[name] ?? assertKnown(operation))(input, send);
    } catch (thrown) {
      // The pacer has already classified its errors. Any other error is an unreadable answer.
      throw classify(operation, thrown);
    }
  }
}

/** A step in the SDK's request pipeline. */
type Step = (
  next: (request: unknown) => Promise<unknown>,
  context: { readonly commandName?: string },
) => (request: unknown) => Promise<unknown>;

/**
 * Adds the fence as the last step before a request is sent. The SDK may have fetched credentials after the pacer checked, which takes time.
 */
function addFence(client: Client, service: Service, mayWrite: (() => boolean) | undefined): void {
  const step: Step = (next, { commandName = '' }) => {
    const operation = `${service}:${commandName.replace(/Command$/, '')}` as Operation;
    return (request) => {
      assertMayWrite(operation, mayWrite);
      return next(request);
    };
  };
  client.middlewareStack.add(step as never, { step: 'deserialize', priority: 'low', name: 'heraldFence' });
}

/** Sends a command with the client of its service. The tables of operations ensure that both match. */
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

/** Request fields that the log shows: resource names and ids, by AWS' field names, but no user content. */
const shown = new Set(['LoadBalancerArn', 'LoadBalancerName', 'TargetGroupArn', 'ListenerArn', 'Name', 'GroupId', 'GroupName', 'Port']);

function aboutOf(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([key]) => shown.has(key)));
}
