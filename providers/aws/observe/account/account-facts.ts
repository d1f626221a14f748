import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import { AwsError } from '../../cloud/error.ts';
import type { Certificate } from '../../cloud/acm.ts';
import { reasonOfError } from '../../cloud/error-reason.ts';
import { allButMissing, inBatches, isUnknown } from '../tolerate-missing.ts';
import { observeAddresses, type NamedAddresses } from './addresses.ts';
import { observeAlbs } from './albs.ts';
import { CertificateKeys } from './certificate-keys.ts';
import { observeSslPolicy } from './ssl-policies.ts';
import type { AddressFacts } from '../../model/addresses.ts';
import type { AlbFacts } from '../../model/targets/alb.ts';
import type { Facts, NamedTargetGroup } from '../../model/facts.ts';
import { limits } from '../../model/limits.ts';
import { tagMap } from '../../model/tags.ts';
import { observeCertificates, observeFacts } from './facts.ts';
import type { AwsSettings } from '../../model/settings.ts';
import type { Log } from '../../../../src/system/log.ts';
import type { Clock } from '../../../../src/system/clock.ts';
import type { Reason, ReasonCode } from '../../../../src/model/reasons.ts';

/** Reasons that may disappear when subnets, security groups and certificates are read again. */
const codesDependingOnFacts: ReadonlySet<ReasonCode> = new Set([
  'AwsNoSubnets',
  'AwsSubnetUnusable',
  'AwsAddressesDoNotFit',
  'AwsSecurityGroupNotFound',
  'AwsCertificateNotFound',
  'AwsAlbUnusable',
  'AwsRefused',
  'AwsWeightsImpossible',
  'AwsTlsPolicyUnknown',
]);

/**
 * Caches what is the same for all Services. It is read again after a while, once for all concurrent callers. Certificates are read only if
 * a Service needs them.
 */
export class AccountFacts {
  readonly #now: () => number;
  readonly #network: CachedRead<Omit<Facts, 'certificates' | 'certificatesRefused'>>;
  readonly #certificates: CachedRead<Pick<Facts, 'certificates' | 'certificatesRefused'>>;
  readonly #keys: CertificateKeys;
  /** By the addresses that a stack names. */
  readonly #addresses = new Map<string, CachedRead<AddressFacts | undefined>>();
  /** By the ALBs that a stack names. */
  readonly #albs = new Map<string, CachedRead<AlbFacts | undefined>>();
  /** By the ARNs that a stack names. */
  readonly #targetGroups = new Map<string, CachedRead<ReadonlyMap<string, NamedTargetGroup>>>();
  /** By name. */
  readonly #sslPolicies = new Map<string, CachedRead<boolean | undefined>>();
  readonly #described = new Map<string, Certificate>();

  constructor(clock: Clock, log?: Log) {
    const now = (): number => clock.date().getTime();
    this.#now = now;
    this.#network = new CachedRead(now);
    this.#certificates = new CachedRead(now);
    this.#keys = new CertificateKeys(clock, log);
  }

  /** Resolves to the state of the addresses that one stack names. */
  async readAddresses(cloud: ReadOnlyCloud, settings: AwsSettings, named: NamedAddresses): Promise<AddressFacts | undefined> {
    return this.#cached(this.#addresses, named).read(() => observeAddresses(cloud, settings, named));
  }

  /** Resolves to the ALBs that one stack names. */
  async readAlbs(cloud: ReadOnlyCloud, named: readonly string[]): Promise<AlbFacts | undefined> {
    return named.length === 0 ? undefined : this.#cached(this.#albs, named).read(() => observeAlbs(cloud, named));
  }

  #cached<T>(reads: Map<string, CachedRead<T>>, named: unknown): CachedRead<T> {
    const key = JSON.stringify(named);
    const read = reads.get(key) ?? new CachedRead<T>(this.#now);
    if (reads.size >= limits.addressLists) reads.clear();
    reads.set(key, read);
    return read;
  }

  /** Resolves to the security policies of which AWS says if it has them. */
  async readSslPolicies(cloud: ReadOnlyCloud, names: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const known = new Map<string, boolean>();
    for (const name of names) {
      const exists = await this.#cached(this.#sslPolicies, name).read(() => observeSslPolicy(cloud, name));
      if (exists !== undefined) known.set(name, exists);
    }
    return known;
  }

  /** Resolves to those of the target groups that exist, by ARN. */
  async readTargetGroups(cloud: ReadOnlyCloud, arns: readonly string[]): Promise<ReadonlyMap<string, NamedTargetGroup>> {
    return this.#cached(this.#targetGroups, arns).read(async () => {
      const found = await allButMissing(
        arns,
        async (TargetGroupArns) => (await cloud.call('elbv2:DescribeTargetGroups', { TargetGroupArns })).TargetGroups,
        isUnknown,
      );
      const tags = await inBatches(
        found.map(({ TargetGroupArn }) => TargetGroupArn),
        async (ResourceArns) => (await cloud.call('elbv2:DescribeTags', { ResourceArns })).TagDescriptions,
      );
      const tagsOf = new Map(tags.map(({ ResourceArn, Tags }) => [ResourceArn, tagMap(Tags)]));
      return new Map(found.map((group) => [group.TargetGroupArn, { group, tags: tagsOf.get(group.TargetGroupArn) ?? {} }]));
    });
  }

  /** `written`: ARNs of certificates that Services name. `waits`: true if the result must wait for the keys of these certificates. */
  async read(
    cloud: ReadOnlyCloud,
    settings: AwsSettings,
    needsCertificates: boolean,
    written: readonly string[] = [],
    waits = false,
  ): Promise<Facts> {
    const network = await this.#network.read(() => observeFacts(cloud, settings));
    const certificates =
      needsCertificates && settings.certificateDiscovery
        ? await this.#certificates.read(() => this.#readCertificates(cloud))
        : { certificates: [] };
    const keys = waits ? await this.#keys.readAll(cloud, written) : this.#keys.read(cloud, written);
    return { ...network, ...certificates, keys };
  }

  /** Drops the cached facts if one of the errors may depend on them, so the next reconcile reads them again. */
  invalidate(errors: Iterable<Reason>): void {
    if (![...errors].some(({ code }) => codesDependingOnFacts.has(code))) return;
    this.#network.invalidateBefore(this.#now());
    this.#certificates.invalidateBefore(this.#now());
    for (const read of [...this.#addresses.values(), ...this.#albs.values(), ...this.#targetGroups.values(), ...this.#sslPolicies.values()])
      read.invalidateBefore(this.#now());
  }

  /** A missing permission to read certificates is stored as a reason, so it does not block Services without certificates. */
  async #readCertificates(cloud: ReadOnlyCloud): Promise<Pick<Facts, 'certificates' | 'certificatesRefused'>> {
    try {
      return { certificates: await observeCertificates(cloud, this.#described) };
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const { code, operation, awsCode, message } = error;
      return { certificates: [], certificatesRefused: reasonOfError({ code, operation, awsCode, message, requestId: '' }) };
    }
  }
}

/** Caches one value from the end of its read. Concurrent callers share one read. */
class CachedRead<T> {
  readonly #now: () => number;
  #reading: Promise<T> | undefined;
  #held: { readonly at: number; readonly value: T } | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  async read(observe: () => Promise<T>): Promise<T> {
    if (this.#held !== undefined && this.#now() - this.#held.at <= limits.factsSeconds * 1000) return this.#held.value;
    if (this.#reading !== undefined) return this.#reading;
    const reading = observe();
    this.#reading = reading;
    try {
      const value = await reading;
      this.#held = { at: this.#now(), value };
      return value;
    } finally {
      this.#reading = undefined;
    }
  }

  /** Keeps a value that was read at this very moment, so concurrent callers that invalidate the cache cause only one new read. */
  invalidateBefore(now: number): void {
    if (this.#held !== undefined && this.#held.at < now) this.#held = undefined;
  }
}
