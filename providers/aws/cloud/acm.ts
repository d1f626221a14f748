/** Read-only operations of AWS Certificate Manager. Herald uses them only to find certificates by host name and to check their keys. */
export interface AcmOperations {
  /** Lists issued certificates. */
  ListCertificates: { input: object; output: { readonly CertificateSummaryList: readonly { readonly CertificateArn: string }[] } };
  DescribeCertificate: { input: { readonly CertificateArn: string }; output: { readonly Certificate: Certificate } };
}

export interface Certificate {
  readonly CertificateArn: string;
  readonly DomainName: string;
  readonly SubjectAlternativeNames: readonly string[];
  /** Only a certificate with status "ISSUED" can be used. */
  readonly Status: string;
  /** For example "RSA_2048" or "EC_prime256v1". */
  readonly KeyAlgorithm: string;
  readonly NotAfter?: Date;
}
