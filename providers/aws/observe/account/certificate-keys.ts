import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import { AwsError } from '../../cloud/error.ts';
import type { CertificateKey } from '../../model/facts.ts';
import { sleep, type Clock } from '../../../../src/system/clock.ts';
import { limits } from '../../model/limits.ts';

/** ACM certificates. IAM does not report the keys of its certificates. */
const acmArn = /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\//;

/**
 * Reads the key algorithms of the certificates that Services name. For an existing load balancer they are needed only for a warning, so no
 * reconcile waits for them: if ACM is unreachable, an answer takes a minute. A certificate never changes its key. If ACM does not know a certificate, it is asked again
 * after a while. If ACM refuses the request, nothing is asked for a longer time, for all certificates together.
 */
export class CertificateKeys {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #looked = new Map<string, { readonly at: number; readonly key: CertificateKey }>();
  readonly #wanted = new Set<string>();
  #looking: Promise<void> | undefined;
  #refused: { readonly at: number; readonly why: string } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#now = () => clock.date().getTime();
  }

  /** Returns the keys known so far, and starts to read the others in the background. */
  read(cloud: ReadOnlyCloud, arns: Iterable<string>): ReadonlyMap<string, CertificateKey> {
    const keys = new Map<string, CertificateKey>();
    for (const arn of new Set(arns)) {
      if (!acmArn.test(arn)) continue;
      const known = this.#looked.get(arn);
      if (known === undefined || ('unknown' in known.key && this.#isOver(known.at, limits.factsSeconds))) this.#wanted.add(arn);
      if (known !== undefined) keys.set(arn, known.key);
      else if (this.#refused !== undefined) keys.set(arn, { unknown: this.#refused.why });
    }
    const asks = this.#refused === undefined || this.#isOver(this.#refused.at, limits.certificateKeysRefusedSeconds);
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
      const key = await describe(cloud, arn);
      if ('refused' in key) {
        this.#refused = { at: this.#now(), why: key.refused };
        this.#wanted.clear();
        break;
      }
      this.#refused = undefined;
      this.#wanted.delete(arn);
      if (this.#looked.size >= limits.certificateKeys) this.#looked.clear();
      this.#looked.set(arn, { at: this.#now(), key });
    }
    this.#looking = undefined;
  }

  #isOver(at: number, seconds: number): boolean {
    return this.#now() - at > seconds * 1000;
  }
}

/** Reads one key. A controller without permission to describe certificates can still use them. */
async function describe(cloud: ReadOnlyCloud, CertificateArn: string): Promise<CertificateKey | { readonly refused: string }> {
  try {
    return { algorithm: (await cloud.call('acm:DescribeCertificate', { CertificateArn })).Certificate.KeyAlgorithm };
  } catch (error) {
    const code = error instanceof AwsError ? error.code : 'other';
    if (code === 'notFound') return { unknown: 'ACM does not know it', isMissing: true };
    return { refused: `acm:DescribeCertificate failed with ${(error instanceof AwsError && error.awsCode) || code}` };
  }
}
