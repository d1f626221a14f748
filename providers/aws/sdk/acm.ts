import * as Sdk from '@aws-sdk/client-acm';
import { defined } from '../../../src/lang/defined.ts';
import { list, required, present } from './answers/answer.ts';
import { limits } from './limits.ts';
import { allPages, type OperationsOf } from './send.ts';

/** The operations of AWS Certificate Manager, by the SDK. */
export const acm: OperationsOf<'acm'> = {
  ListCertificates: async (_input, send) => {
    const all = await allPages('CertificateSummaryList', (NextToken) => {
      const request = {
        CertificateStatuses: ['ISSUED' as const],
        // Without this filter ACM lists only certificates with RSA keys of 1,024 and 2,048 bits.
        Includes: { keyTypes: Object.values(Sdk.KeyAlgorithm) },
        MaxItems: limits.pageItems,
        ...defined({ NextToken }),
      };
      return send(new Sdk.ListCertificatesCommand(request));
    });
    return { CertificateSummaryList: all.map(({ CertificateArn }) => ({ CertificateArn: required(CertificateArn, 'CertificateArn') })) };
  },

  DescribeCertificate: async (input, send) => {
    const { Certificate } = await send(new Sdk.DescribeCertificateCommand(input));
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
