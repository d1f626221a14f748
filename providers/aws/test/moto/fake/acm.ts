import type { Handlers } from './cloud.ts';
import { refuse } from './world.ts';

export const acmHandlers: Pick<Handlers, 'acm:ListCertificates' | 'acm:DescribeCertificate'> = {
  'acm:ListCertificates': (world) => ({
    CertificateSummaryList: [...world.certificates.keys()].map((CertificateArn) => ({ CertificateArn })),
  }),
  'acm:DescribeCertificate': (world, { CertificateArn }) => {
    const Certificate = world.certificates.get(CertificateArn);
    return Certificate === undefined ? refuse('acm:DescribeCertificate', 'notFound', 'ResourceNotFoundException') : { Certificate };
  },
};
