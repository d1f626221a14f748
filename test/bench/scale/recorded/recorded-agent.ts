import { NodeReport } from '../../../../src/agent/report/node-report.ts';
import type { ReportContent } from '../../../../src/agent/report/write-urgency.ts';
import { KubeClient, type Query } from '../../../../src/kube/client/client.ts';
import type { Connection } from '../../../../src/kube/client/connection.ts';
import { jsonType } from '../../../../src/kube/format/json/json-format.ts';
import { Reflector, type ReflectorComponents, type ReflectorSink } from '../../../../src/kube/reflector/reflector.ts';
import type { AgentPodName } from '../../../../src/model/objects/agent-pod.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { configKind, kindsOfAgent, serviceKind } from '../../../../src/sources/kubernetes/collections/watched-kinds.ts';
import { Installation } from '../../../../src/sources/kubernetes/installation.ts';
import { KubernetesStatusWriter } from '../../../../src/sources/kubernetes/records/status-writer.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { systemRandom } from '../../../../src/system/random.ts';
import { WatchPool, type EventCounts } from './watch-pool.ts';

export interface RecordedAgentOptions {
  readonly node: string;
  readonly nodes: number;
  readonly pod: AgentPodName;
  readonly connection: Connection;
  readonly userAgent: string;
  /** What the agents report now. */
  readonly content: () => ReportContent;
  readonly events: EventCounts;
}

/**
 * An agent as the API server sees it: the Reflectors of its kinds and the writer of its NodeState are Herald's own, so their requests, retries
 * and intervals are. It does nothing with the objects, which it does not even parse.
 */
export class RecordedAgent {
  readonly #options: RecordedAgentOptions;
  readonly #pool: WatchPool;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #report: NodeReport;
  readonly #running: Promise<unknown>[] = [];
  #installation: Installation | undefined;

  constructor(options: RecordedAgentOptions) {
    const { connection, userAgent, events, node, nodes, pod, content } = options;
    this.#options = options;
    this.#pool = new WatchPool(connection, userAgent, events);
    const client = new KubeClient(connection, { clock: systemClock, userAgent });
    this.#client = client;
    client.stream = (path, query, signal, accept = jsonType) =>
      this.#pool.watch({ target: withQuery(path, query), accept, isInitial: query['sendInitialEvents'] === true }, signal);
    const writer = new KubernetesStatusWriter({ client, snapshot: new Store(), clock: systemClock, log: silentLog });
    this.#report = new NodeReport(
      { writeNodeState: (state) => writer.writeNodeState(state), clock: systemClock, random: systemRandom, log: silentLog },
      { node, content, nodes: () => nodes, pod, kubeletReports: () => true },
    );
  }

  /** Resolves when every kind was read once, in the order of KubernetesSource, and the report is on its way. */
  async start(): Promise<void> {
    await this.#follow(configKind.resource);
    await Promise.all([serviceKind, ...kindsOfAgent].map(({ resource }) => this.#follow(resource)));
    this.#installation = new Installation({ namespace: this.#options.pod.namespace, name: 'herald-agent' }, this.#components);
    this.#report.scheduleWrite();
  }

  /** Called when the content of the report may have changed. */
  changed(): void {
    this.#report.scheduleWrite();
  }

  /** Ends as an agent does by SIGTERM: it writes its last report and closes its watches. */
  async stop(): Promise<void> {
    await this.#report.close();
    this.#stop.abort();
    await this.#installation?.close();
    await Promise.allSettled(this.#running);
    this.#pool.close();
    this.#client.close();
  }

  get #components(): ReflectorComponents {
    return { client: this.#client, clock: systemClock, random: systemRandom, log: silentLog };
  }

  async #follow(resource: ConstructorParameters<typeof Reflector>[0]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sink: ReflectorSink = {
      present: () => undefined,
      deleted: () => undefined,
      flush: () => undefined,
      complete: () => resolve(),
      failed: () => undefined,
    };
    this.#running.push(new Reflector(resource, sink, this.#components).run(this.#stop.signal));
    await promise;
  }
}

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.append(name, String(value));
  return `${path}?${parameters.toString()}`;
}
