import { errorCode, updateError } from '../../wire/codes.ts';
import type { Fault } from '../../wire/fault.ts';

const ofUpdate: Readonly<Record<number, string>> = {
  [updateError.malformedAttributes]: 'RFC 7606 3 (g) and 4',
  [updateError.unrecognizedWellKnown]: 'RFC 7606 3 (i)',
  [updateError.missingWellKnown]: 'RFC 7606 3 (d)',
  [updateError.attributeFlags]: 'RFC 7606 3 (c)',
  [updateError.attributeLength]: 'RFC 7606 7',
  [updateError.origin]: 'RFC 7606 7.1',
  [updateError.nextHop]: 'RFC 7606 7.3',
  [updateError.optionalAttribute]: 'RFC 4760 7',
  [updateError.network]: 'RFC 7606 5.3',
  [updateError.asPath]: 'RFC 7606 7.2',
};

const ofMessage: Readonly<Record<number, string>> = {
  [errorCode.header]: 'RFC 4271 6.1',
  [errorCode.open]: 'RFC 4271 6.2',
  [errorCode.update]: 'RFC 4271 6.3',
  [errorCode.routeRefresh]: 'RFC 7313 5',
};

/** Returns the section by which this codec found a fault. Without a fault: that of the message format. */
export function sectionOf(fault: Fault | undefined): string {
  if (fault === undefined) return 'RFC 4271 4.3';
  const section = fault.code === errorCode.update ? ofUpdate[fault.subcode] : undefined;
  return section ?? ofMessage[fault.code] ?? 'RFC 4271 6';
}
