import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import { AwsError } from '../../cloud/error.ts';
import type { CertificateKey } from '../../model/facts.ts';
import { sleep, type Clock } from '../../../../src/system/clock.ts';
import { silentLog, type Log } from '../../../../src/system/log.ts';
import { limits } from '../../model/limits.ts';

/** ACM certificates. IAM does not report the keys of its certificates. */
const acmArn = /^(arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}):certificate\//;

/** The region and the account of a certificate. ACM describes those of one region, and no other account can allow it. */
const placeOf = (arn: string): string => acmArn.exec(arn)?.[1] ?? '';

/**
 * Reads the key algorithms of the certificates that Services name. For an existing load balancer they are needed only for a warning, so no
 * reconcile waits for them: if ACM is unreachable, an answer takes a minute. A certificate never changes its key. If ACM does not know a certificate, it is asked again
 * after a while. If ACM refuses to describe one, it is not asked for this one for a longer time, nor for any of its account after the third one
 * of which none was described: a Service may name certificates of any account, and those of others must still be checked. If ACM does not
 * answer at all, nothing is asked for that time.
 */
export class CertificateKeys {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Regions and accounts of which the log says that the controller may not describe their certificates. */
  readonly #told = new Set<string>();
  readonly #now: () => number;
  readonly #looked = new Map<string, Looked>();
  /** By region and account: the refusals since a certificate was described there. */
  readonly #refusedIn = new Map<string, { readonly count: number; readonly at: number; readonly why: string }>();
  readonly #wanted = new Set<string>();
  #looking: Promise<void> | undefined;
  #silent: { readonly at: number; readonly why: string; readonly seconds: number } | undefined;

  constructor(clock: Clock, log: Log = silentLog) {
    this.#clock = clock;
    this.#log = log;
    this.#now = () => clock.date().getTime();
  }

  /** Returns the keys known so far, and starts to read the others in the background. */
  read(cloud: ReadOnlyCloud, arns: Iterable<string>): ReadonlyMap<string, CertificateKey> {
    const keys = new Map<string, CertificateKey>();
    for (const arn of new Set(arns)) {
      if (!acmArn.test(arn)) continue;
      const known = this.#looked.get(arn);
      const closed = this.#closed(arn);
      if (closed === undefined && (known === undefined || this.#isOld(known))) this.#wanted.add(arn);
      const why = closed ?? this.#silent?.why;
      if (closed !== undefined && known?.isRefused !== false) keys.set(arn, { unknown: closed, isOfController: true });
      else if (known !== undefined) keys.set(arn, known.key);
      else if (why !== undefined) keys.set(arn, { unknown: why });
    }
    const asks = this.#silent === undefined || this.#isOver(this.#silent.at, this.#silent.seconds);
    if (!asks) this.#wanted.clear();
    else if (this.#wanted.size > 0) this.#looking ??= this.#look(cloud);
    return keys;
  }

  /**
   * Waits until the keys are read, but not long. For callers that ask only once, and for a new load balancer, which must not be created with
   * a certificate that does not exist.
   */
  async readAll(cloud: ReadOnlyCloud, arns: readonly string[]): Promise<ReadonlyMap<string, CertificateKey>> {
    this.read(cloud, arns);
    const answered = new AbortController();
    const late = sleep(this.#clock, limits.certificateWaitSeconds * 1000, answered.signal).catch(() => undefined);
    await Promise.race([this.#looking, late]);
    answered.abort();
    return this.read(cloud, arns);
  }

  /** Reads the wanted certificates one after the other. Never rejects. */
  async #look(cloud: ReadOnlyCloud): Promise<void> {
    for (const arn of this.#wanted) {
      this.#wanted.delete(arn);
      if (this.#closed(arn) !== undefined) continue;
      const { key, isRefused, silentSeconds } = await describe(cloud, arn);
      const at = this.#now();
      if (silentSeconds !== undefined) {
        this.#silent = { at, why: key.unknown, seconds: silentSeconds };
        this.#wanted.clear();
        break;
      }
      this.#silent = undefined;
      const place = placeOf(arn);
      if (isRefused && 'unknown' in key) this.#recordRefusal(place, key.unknown, at);
      else {
        this.#refusedIn.delete(place);
        this.#told.delete(place);
      }
      if (this.#refusedIn.size > limits.certificateKeys) this.#refusedIn.clear();
      if (this.#looked.size >= limits.certificateKeys) this.#looked.clear();
      this.#looked.set(arn, { at, key, isRefused });
    }
    this.#looking = undefined;
  }

  /** Several refusals in one account are a problem of the controller, or of all who name its certificates: the log says it once. */
  #recordRefusal(place: string, why: string, at: number): void {
    const count = (this.#refusedIn.get(place)?.count ?? 0) + 1;
    this.#refusedIn.set(place, { count, at, why });
    if (count < limits.certificateRefusals || this.#told.has(place)) return;
    if (this.#told.size >= limits.certificateKeys) this.#told.clear();
    this.#told.add(place);
    const fields = { certificates: place, why, permission: 'acm:DescribeCertificate' };
    this.#log.warn(fields, 'the keys of certificates are not checked: give the controller the permission, if the account is its own');
  }

  /** Returns why no certificate of this account is asked for now. Undefined: it may be. */
  #closed(arn: string): string | undefined {
    const refused = this.#refusedIn.get(placeOf(arn));
    if (refused === undefined || refused.count < limits.certificateRefusals) return undefined;
    if (!this.#isOver(refused.at, limits.certificateKeysRefusedSeconds)) return refused.why;
    this.#refusedIn.delete(placeOf(arn));
    return undefined;
  }

  #isOld({ at, key, isRefused }: Looked): boolean {
    return 'unknown' in key && this.#isOver(at, isRefused ? limits.certificateKeysRefusedSeconds : limits.factsSeconds);
  }

  #isOver(at: number, seconds: number): boolean {
    return this.#now() - at > seconds * 1000;
  }
}

/** An answer of ACM. Or none: then nothing is asked for so many seconds. */
type Answer =
  | { readonly key: CertificateKey; readonly isRefused: boolean; readonly silentSeconds?: never }
  | { readonly key: { readonly unknown: string }; readonly isRefused?: never; readonly silentSeconds: number };

interface Looked {
  readonly at: number;
  readonly key: CertificateKey;
  readonly isRefused: boolean;
}

/** Reads one key. A controller without permission to describe certificates can still use them. */
async function describe(cloud: ReadOnlyCloud, CertificateArn: string): Promise<Answer> {
  try {
    const { Certificate } = await cloud.call('acm:DescribeCertificate', { CertificateArn });
    return { key: { algorithm: Certificate.KeyAlgorithm }, isRefused: false };
  } catch (error) {
    const code = error instanceof AwsError ? error.code : 'other';
    if (code === 'notFound') return { key: { unknown: 'ACM does not know it', isMissing: true }, isRefused: false };
    const key = { unknown: `acm:DescribeCertificate failed with ${(error instanceof AwsError && error.awsCode) || code}` };
    if (ofOneCertificate.has(code)) return { key, isRefused: true };
    return { key, silentSeconds: code === 'throttled' ? limits.factsSeconds : limits.certificateKeysRefusedSeconds };
  }
}

/** Errors that concern the certificate of the request, and not ACM as a whole. */
const ofOneCertificate: ReadonlySet<string> = new Set(['denied', 'invalid', 'certificate', 'other']);
