import { listAttributes, readAttributes, readText } from '../../system/netlink/attributes.ts';
import { dataAttributes, expressionAttributes, ruleAttributes } from '../nftables/netlink/constants.ts';

const bitwiseMask = 4;

/**
 * Returns the bit of the packet mark that a rule matches ("mark and 0x4000 != 0"), from the rule's attributes as the kernel lists them: the
 * mask of the first bitwise operation, if it is one bit of 32.
 */
export function maskedBit(attributes: Uint8Array): number | undefined {
  const expressions = readAttributes(attributes).get(ruleAttributes.expressions);
  for (const { value } of expressions === undefined ? [] : listAttributes(expressions)) {
    const expression = readAttributes(value);
    const [name, data] = [expression.get(expressionAttributes.name), expression.get(expressionAttributes.data)];
    if (name === undefined || data === undefined || readText(name) !== 'bitwise') continue;
    const nested = readAttributes(data).get(bitwiseMask);
    const mask = nested === undefined ? undefined : readAttributes(nested).get(dataAttributes.value);
    if (mask?.length !== 4) continue;
    // Marks are in the machine's byte order.
    const bit = Math.log2(new DataView(mask.buffer, mask.byteOffset).getUint32(0, true));
    if (Number.isInteger(bit)) return bit;
  }
  return undefined;
}
