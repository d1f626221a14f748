import { defined } from '../../../src/lang/defined.ts';
import type { Node } from '../../../src/model/objects/cluster.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Clock } from '../../../src/system/clock.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { BatchedReads } from '../cloud/batched-reads.ts';
import type { Cloud } from '../cloud/cloud.ts';
import { writtenCertificates } from '../desire/ports/certificates.ts';
import { namedTargetGroups } from '../desire/ports/weights.ts';
import type { Member } from '../desire/stack.ts';
import type { Surroundings } from '../model/circumstances.ts';
import type { PodReader } from '../model/pods.ts';
import type { AwsSettings } from '../model/settings.ts';
import { SharedCreations } from './execution/shared-creations.ts';
import { clusterUidOf, SingleOwner, type OwnerObserver } from './single-owner.ts';
import { AccountFacts } from '../observe/account/account-facts.ts';
import { namedAddresses } from '../observe/account/addresses.ts';
import { namedAlbs } from '../observe/account/albs.ts';
import { TargetPods } from '../observe/target-pods.ts';

export interface Connection {
  readonly cloud: Cloud;
  readonly settings: AwsSettings;
  readonly owner: SingleOwner;
}

/** Determines the cluster's region and VPC from its nodes and opens the connection. Rejects with AwsError when they are unknown. */
export type Connect = (nodes: readonly Node[]) => Promise<Pick<Connection, 'cloud' | 'settings'>>;

interface AccountComponents {
  readonly connect: Connect;
  readonly pods?: PodReader | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: OwnerObserver | undefined;
}

/** The AWS account of the cluster: the connection, which is opened once, and cached facts that all stacks share. */
export class AwsAccount {
  readonly pods: TargetPods;
  readonly #components: AccountComponents;
  readonly #now: () => number;
  readonly #facts: AccountFacts;
  #connection: Promise<Connection> | undefined;

  constructor(components: AccountComponents) {
    const { pods, clock, log } = components;
    this.#components = components;
    this.#now = () => clock.date().getTime();
    this.pods = new TargetPods(pods, this.#now);
    this.#facts = new AccountFacts(clock, log);
  }

  /** Resolves to the connection. A failed attempt is repeated by the next call. */
  async open(snapshot: Snapshot): Promise<Connection> {
    const opening = (this.#connection ??= this.#open(snapshot));
    const connection = await opening.catch((error: unknown) => {
      if (this.#connection === opening) this.#connection = undefined;
      throw error;
    });
    return connection;
  }

  /** The same, for a reconcile. Also rejects with AwsError while another cluster has the name of this one. */
  async openToWrite(snapshot: Snapshot): Promise<Connection> {
    const connection = await this.open(snapshot);
    connection.owner.assertSingle('elbv2:AddTags');
    return connection;
  }

  async #open(snapshot: Snapshot): Promise<Connection> {
    const { cloud, settings: given } = await this.#components.connect([...snapshot.nodes.values()]);
    const settings = { ...given, ...defined({ clusterUid: clusterUidOf(snapshot) }) };
    const owner = new SingleOwner(cloud, settings, this.#components);
    return { cloud: new SharedCreations(new BatchedReads(owner), this.#now), settings, owner };
  }

  /**
   * Resolves to everything besides the Services that the desired state of these members depends on. `waits`: also waits for certificate
   * keys, and asks for security policies.
   */
  async circumstances(
    { cloud, settings }: Connection,
    snapshot: Snapshot,
    members: readonly Member[],
    waits = false,
  ): Promise<Surroundings> {
    const needsCertificates = members.some(({ values }) => values.certificateHosts !== undefined);
    const written = members.flatMap(({ values }) => writtenCertificates(values));
    const addresses = await this.#facts.readAddresses(cloud, settings, namedAddresses(members));
    const albs = await this.#facts.readAlbs(cloud, namedAlbs(members));
    const named = [...new Set(members.flatMap(({ values }) => namedTargetGroups(values)))].toSorted();
    const targetGroups = named.length === 0 ? undefined : await this.#facts.readTargetGroups(cloud, named);
    const isTls = members.some(({ kind }) => kind === 'nlb') && (needsCertificates || written.length > 0);
    const policies = new Set(members.map(({ values }) => values.sslPolicy ?? settings.defaultSslPolicy));
    const sslPolicies = waits && isTls ? await this.#facts.readSslPolicies(cloud, [...policies]) : undefined;
    return {
      facts: {
        ...(await this.#facts.read(cloud, settings, needsCertificates, written, waits)),
        ...defined({ addresses, albs, targetGroups, sslPolicies }),
      },
      settings,
      nodes: [...snapshot.nodes.values()],
      backend: (key) => snapshot.services.get(key),
      checkTargets: (services) => this.pods.check(services, snapshot),
      remainingPods: (namespace, addresses) => this.pods.remaining(namespace, addresses),
    };
  }

  /** Reads the facts again next time, if one of these errors may come from outdated ones. */
  invalidateFacts(errors: readonly Reason[]): void {
    this.#facts.invalidate(errors);
  }
}
