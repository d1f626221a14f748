import { defined } from '../../../src/lang/defined.ts';
import type { Node } from '../../../src/model/objects/cluster.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Clock } from '../../../src/system/clock.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { BatchedReads } from '../cloud/batched-reads.ts';
import type { Cloud } from '../cloud/cloud.ts';
import { writtenCertificates } from '../desire/certificates.ts';
import type { Member } from '../desire/stack.ts';
import type { Surroundings } from '../model/circumstances.ts';
import type { PodReader } from '../model/pods.ts';
import type { AwsSettings } from '../model/settings.ts';
import { SharedCreations } from './shared-creations.ts';
import { AccountFacts } from '../observe/account-facts.ts';
import { namedAddresses } from '../observe/addresses.ts';
import { TargetPods } from '../observe/target-pods.ts';

export interface Connection {
  readonly cloud: Cloud;
  readonly settings: AwsSettings;
}

/** Determines the cluster's region and VPC from its nodes and opens the connection. Rejects with AwsError when they are unknown. */
export type Connect = (nodes: readonly Node[]) => Promise<Connection>;

/** The AWS account of the cluster: the connection, which is opened once, and cached facts that all stacks share. */
export class AwsAccount {
  readonly pods: TargetPods;
  readonly #connect: Connect;
  readonly #now: () => number;
  readonly #facts: AccountFacts;
  #connection: Promise<Connection> | undefined;

  constructor(connect: Connect, pods: PodReader | undefined, clock: Clock) {
    this.#connect = connect;
    this.#now = () => clock.date().getTime();
    this.pods = new TargetPods(pods, this.#now);
    this.#facts = new AccountFacts(clock);
  }

  /** Resolves to the connection. A failed attempt is repeated by the next call. */
  async open(snapshot: Snapshot): Promise<Connection> {
    const opening = (this.#connection ??= this.#open([...snapshot.nodes.values()]));
    const connection = await opening.catch((error: unknown) => {
      if (this.#connection === opening) this.#connection = undefined;
      throw error;
    });
    return connection;
  }

  async #open(nodes: readonly Node[]): Promise<Connection> {
    const { cloud, settings } = await this.#connect(nodes);
    return { cloud: new SharedCreations(new BatchedReads(cloud), this.#now), settings };
  }

  /** Resolves to everything besides the Services that the desired state of these members depends on. `waits`: also waits for certificate keys. */
  async circumstances(
    { cloud, settings }: Connection,
    snapshot: Snapshot,
    members: readonly Member[],
    waits = false,
  ): Promise<Surroundings> {
    const needsCertificates = members.some(({ values }) => values.certificateHosts !== undefined);
    const written = members.flatMap(({ values }) => writtenCertificates(values));
    const addresses = await this.#facts.readAddresses(cloud, settings, namedAddresses(members));
    return {
      facts: { ...(await this.#facts.read(cloud, settings, needsCertificates, written, waits)), ...defined({ addresses }) },
      settings,
      nodes: [...snapshot.nodes.values()],
      checkTargets: (services) => this.pods.check(services, snapshot),
    };
  }

  /** Reads the facts again next time, if one of these errors may come from outdated ones. */
  invalidateFacts(errors: readonly Reason[]): void {
    this.#facts.invalidate(errors);
  }
}
