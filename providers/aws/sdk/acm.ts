import { DescribeCertificateCommand, KeyAlgorithm, ListCertificatesCommand } from '@aws-sdk/client-acm';
import { defined } from '../../../src/lang/defined.ts';
import { list, required, present } from './answers/answer.ts';
import { limits } from './limits.ts';
import { allPages, type OperationsOf } from './send.ts';

/** The operations of AWS Certificate Manager, by the SDK. */
export const acm: OperationsOf<'acm'> = {
  ListCertificates: async (_input, send) => {
    const all = await allPages(async (NextToken) => {
      const request = {
        CertificateStatuses: ['ISSUED' as const],
        // Without this filter ACM lists only certificates with RSA keys of 1,024 and 2,048 bits.
        Includes: { keyTypes: Object.values(KeyAlgorithm) },
        MaxItems: limits.pageItems,
        ...defined({ NextToken }),
      };
      const answer = await send(new ListCertificatesCommand(request));
      return { items: answer.CertificateSummaryList, next: answer.NextToken };
    });
    return { CertificateSummaryList: all.map(({ CertificateArn }) => ({ CertificateArn: required(CertificateArn, 'CertificateArn') })) };
  },

  DescribeCertificate: async (input, send) => {
    const { Certificate } = await send(new DescribeCertificateCommand(input));
    return {
      Certificate: present({
        CertificateArn: required(Certificate?.CertificateArn, 'CertificateArn'),
        DomainName: required(Certificate?.DomainName, 'DomainName'),
        SubjectAlternativeNames: list(Certificate?.SubjectAlternativeNames),
        Status: required(Certificate?.Status, 'Status'),
        KeyAlgorithm: required(Certificate?.KeyAlgorithm, 'KeyAlgorithm'),
        NotAfter: Certificate?.NotAfter,
      }),
    };
  },
};
