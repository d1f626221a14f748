import { reason } from '../../../../src/model/reasons.ts';
import type { Certificate } from '../../cloud/acm.ts';
import type { AnnotationValues } from '../../annotations/table.ts';
import type { Facts } from '../../model/facts.ts';
import type { Issues } from '../../model/issues.ts';

/** Key types that listeners accept (https://docs.aws.amazon.com/elasticloadbalancing: RSA up to 3072 bits, three curves). */
const usableKeys = new Set(['RSA_1024', 'RSA_2048', 'RSA_3072', 'EC_prime256v1', 'EC_secp384r1', 'EC_secp521r1']);

/**
 * Finds a certificate for each host name. An exact name beats a wildcard, then the latest expiry wins, then the lower ARN. The result
 * follows the order of the host names and contains each certificate once.
 */
export function findCertificates(hosts: readonly string[], all: readonly Certificate[], issues: Issues): readonly string[] {
  const usable = all.filter(({ Status, KeyAlgorithm }) => Status === 'ISSUED' && usableKeys.has(KeyAlgorithm));
  const found = new Set<string>();
  for (const host of hosts) {
    const candidates = usable.map((certificate) => ({ certificate, rank: rank(certificate, host) })).filter(({ rank }) => rank > 0);
    const [best] = candidates.toSorted((a, b) => b.rank - a.rank || later(a.certificate, b.certificate));
    if (best === undefined) issues.error(reason('AwsCertificateNotFound', { host }));
    else found.add(best.certificate.CertificateArn);
  }
  return [...found];
}

/** The certificate ARNs that a Service names, for all ports or for single ones. */
export function writtenCertificates({ certificates = [], certificateOfPort }: AnnotationValues): string[] {
  return [...new Set([...certificates, ...[...certificateOfPort.values()].flat()])];
}

/**
 * Warns about keys that a listener of an NLB may not accept. AWS may refuse such a key, or TLS handshakes may never finish, which is hard
 * to diagnose without the warning.
 */
export function checkKeys(certificates: readonly string[], keys: Facts['keys'], issues: Issues): void {
  for (const certificate of certificates) {
    const key = keys?.get(certificate);
    if (key === undefined) continue;
    if ('unknown' in key && key.isOfController === true) continue;
    if ('unknown' in key) issues.warn(reason('AwsCertificateKeyUnknown', { certificate, why: key.unknown }));
    else if (!usableKeys.has(key.algorithm)) issues.warn(reason('AwsCertificateKey', { certificate, algorithm: key.algorithm }));
  }
}

/**
 * Reports certificates of one port that AWS would refuse: those of another region, and, for a new load balancer, those that ACM does not
 * know. So nothing is created before the whole Service is valid. Certificates of IAM have no region.
 */
export function checkUsable(
  certificates: readonly string[],
  port: number,
  { region, keys, isNew }: { readonly region: string; readonly keys: Facts['keys']; readonly isNew: boolean },
  issues: Issues,
): void {
  for (const certificate of certificates) {
    const own = /^arn:[\w-]+:acm:([\w-]+):/.exec(certificate)?.[1];
    const key = keys?.get(certificate);
    const isMissing = isNew && key !== undefined && 'unknown' in key && key.isMissing === true;
    const why = own !== undefined && own !== region ? 'region' : isMissing ? 'missing' : undefined;
    if (why !== undefined) issues.error(reason('AwsCertificateUnusable', { certificate, region, port, why }));
  }
}

/** 2 for an exact name, 1 for a wildcard (which stands for one label), 0 for no match. */
function rank({ DomainName, SubjectAlternativeNames }: Certificate, host: string): number {
  const names = new Set([DomainName, ...SubjectAlternativeNames].map((name) => name.toLowerCase()));
  if (names.has(host)) return 2;
  const dot = host.indexOf('.');
  return dot > 0 && names.has(`*${host.slice(dot)}`) ? 1 : 0;
}

function later(a: Certificate, b: Certificate): number {
  const difference = (b.NotAfter?.getTime() ?? 0) - (a.NotAfter?.getTime() ?? 0);
  return difference === 0 ? (a.CertificateArn < b.CertificateArn ? -1 : 1) : difference;
}
