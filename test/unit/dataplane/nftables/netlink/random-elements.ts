import { maskedPrefix, formatPrefix } from '../../../../../src/net/prefix.ts';
import { address, formatAddress, type Family } from '../../../../../src/net/address.ts';
import { elementFromText, valueText } from '../../../../support/commands/element-from-text.ts';
import { keyText } from '../../../../../src/dataplane/ruleset/element-text.ts';
import { elementIdentity, type Element } from '../../../../../src/dataplane/ruleset/element.ts';
import { allSets, type Field } from '../../../../../src/dataplane/ruleset/layout.ts';
import { turnChainName, turnOctets } from '../../../../../src/dataplane/ruleset/turns.ts';

const octetsBelow = (below: (bound: number) => number, length: number): string =>
  Array.from({ length }, () => String.fromCharCode(below(256))).join('');

/** Returns elements for every set of the table, the same for the same seed. Prefixes do not overlap. */
export function randomElements(family: Family, perSet: number, seed = 1): Element[] {
  let state = seed >>> 0;
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 0x1_0000_0000) * bound);
  };
  let sources = 0;
  const text = (field: Field): string => {
    switch (field) {
      case 'address':
        return family === 4
          ? `${1 + below(220)}.${below(256)}.${below(256)}.${below(256)}`
          : formatAddress(address(`fd00:${(1 + below(65_535)).toString(16)}::${(1 + below(65_535)).toString(16)}`));
      case 'source': {
        // Each prefix lies in a /24 or /112 of its own, and some cover only a part of it.
        sources++;
        const [wide, whole] = family === 4 ? [24, 32] : [112, 128];
        const base =
          family === 4 ? `10.${sources >> 8}.${sources & 255}.${below(256)}` : `fd11::${sources.toString(16)}:${below(256).toString(16)}`;
        const length = wide + below(whole - wide + 1);
        const prefix = maskedPrefix(address(base), length);
        return length === whole ? formatAddress(prefix.address) : formatPrefix(prefix);
      }
      case 'protocol':
        return ['tcp', 'udp', 'sctp'][below(3)] ?? 'tcp';
      case 'port':
        return String(1 + below(65_535));
      case 'class':
        return `${below(0x1_0000).toString(16)}:${below(0x1_0000).toString(16)}`;
      case 'mark':
        return `0x${below(0x1_0000_0000).toString(16).padStart(8, '0')}`;
      case 'chain':
        return `jump ${turnChainName(turnOctets(family, octetsBelow(below, family === 4 ? 12 : 24), 'any', 1 + below(1_024)))}`;
      case 'link':
        return ['02', ...Array.from({ length: 5 }, () => below(256).toString(16).padStart(2, '0'))].join(':');
    }
  };
  const elements = new Map<string, Element>();
  for (const [set, shape] of allSets) {
    for (let index = 0; index < perSet; index++) {
      // A table is not ours if it has an unknown part.
      const key = set === 'parts' ? `0x0000000${1 + below(4)}` : shape.key.map(text).join(' . ');
      const element = elementFromText(family, set, key, shape.value?.map(text).join(' . '));
      elements.set(elementIdentity(element), element);
    }
  }
  return [...elements.values()];
}

/** Returns the elements as sorted lines. */
export function elementTexts(elements: Iterable<Element>): string[] {
  return Array.from(elements, (element) => {
    const value = valueText(element);
    return `${element.family} ${element.set} ${keyText(element)}${value === undefined ? '' : ` : ${value}`}`;
  }).sort();
}
