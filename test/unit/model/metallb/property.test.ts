import { isRecord } from '../../../../src/lang/is-record.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import { translateObject } from '../../../../src/model/metallb/translate.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { anyMetalLBObject } from './any-metallb-object.ts';
import { runs } from '../../../support/property.ts';

const mode = { compat: ['metallb'], namespace: 'metallb-system' } as const;

test('an object that MetalLB accepts is read, or its problems are reported', () => {
  fc.assert(
    fc.property(anyMetalLBObject(), (raw) => {
      const { object, problems, ignored } = parseAnyObject(raw, mode);
      expect(ignored).toBe(false);
      expect({ read: object !== undefined, told: problems.length > 0 }).not.toEqual({ read: false, told: false });
    }),
    { numRuns: runs(2000) },
  );
});

test('an object that MetalLB accepts is refused only for the reasons in the reference', () => {
  const refused = new Set<string>();
  fc.assert(
    fc.property(anyMetalLBObject(), (raw) => {
      for (const { field, message } of parseAnyObject(raw, mode).problems)
        refused.add(`${raw.kind} ${field}: ${message}`.replace(/"[^"]*"|\d+/g, '...'));
    }),
    { numRuns: runs(5000) },
  );
  const named = [
    /^L\.\.\.Advertisement kind: Herald announces by BGP only/,
    /^BGPPeer spec\.(myASN|peerASN|localASN): is AS_TRANS/,
    /^BGPPeer spec\.vrf: must not be set together with interface/,
    /^BGPPeer spec\.bfdProfile: is not supported in a VRF/,
    /^BGPPeer spec\.ebgpMultiHop: is for (external sessions|peers behind another router)/,
    /^BGPAdvertisement spec\.communities\[\.\.\.\]: .*neither a community nor a name of one/,
    /^BGPAdvertisement spec\.aggregationLengthV\.\.\.: must be a whole number/,
  ];
  expect([...refused].filter((text) => !named.some((pattern) => pattern.test(text)))).toEqual([]);
});

test('a field keeps its value in translation, or the difference is reported', () => {
  fc.assert(
    fc.property(anyMetalLBObject(), (raw) => {
      const translation = translateObject(raw, 'metallb-system');
      if (translation.is !== 'translated') return;
      const told = new Set(translation.findings.map(({ path }) => path[1]));
      const spec = isRecord(translation.raw['spec']) ? translation.raw['spec'] : {};
      for (const [name, value] of Object.entries(raw.spec)) {
        const same = JSON.stringify(spec[name]) === JSON.stringify(value);
        if (!same && !told.has(name)) expect(meansTheSame(raw.kind, name, value, spec[name])).toBe(true);
      }
    }),
    { numRuns: runs(2000) },
  );
});

test('the parser reads the translated object like the original one', () => {
  fc.assert(
    fc.property(anyMetalLBObject(), (raw) => {
      const translation = translateObject(raw, 'metallb-system');
      if (translation.is !== 'translated') return;
      const { object, problems } = parseObject(translation.raw);
      expect(problems).toEqual(parseAnyObject(raw, mode).problems);
      expect(object === undefined).toBe(parseAnyObject(raw, mode).object === undefined);
    }),
    { numRuns: runs(1000) },
  );
});

/** True when two texts mean the same value. */
function meansTheSame(kind: string, name: string, before: unknown, after: unknown): boolean {
  if (kind === 'IPAddressPool' && name === 'addresses') return true;
  if (kind === 'BGPPeer' && name === 'passwordSecret') {
    const secret = before as { readonly name?: string };
    return secret.name === undefined
      ? after === undefined
      : JSON.stringify(after) === JSON.stringify({ name: secret.name, namespace: 'metallb-system' });
  }
  // A field that is not set equals one with an empty value.
  return after === undefined && (before === false || before === '0s' || before === 0);
}
