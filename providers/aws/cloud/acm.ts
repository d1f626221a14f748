/** AWS Certificate Manager: only reads, and only where certificates are discovered by host name or checked before they are used. */
export interface AcmOperations {
  /** Issued certificates. */
  ListCertificates: { input: object; output: { readonly CertificateSummaryList: readonly { readonly CertificateArn: string }[] } };
  DescribeCertificate: { input: { readonly CertificateArn: string }; output: { readonly Certificate: Certificate } };
}

export interface Certificate {
  readonly CertificateArn: string;
  readonly DomainName: string;
  readonly SubjectAlternativeNames: readonly string[];
  /** "ISSUED" is the one that can be used. */
  readonly Status: string;
  /** "RSA_2048", "EC_prime256v1". */
  readonly KeyAlgorithm: string;
  readonly NotAfter?: Date;
}
