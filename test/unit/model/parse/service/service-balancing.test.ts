import { describe, expect, test } from 'vitest';
import { parseObject } from '../../../../../src/model/parse.ts';
import { ours, service, slice } from '../manifests.ts';

const annotated = (annotations: object, spec: object = {}): unknown => service({ type: 'LoadBalancer', ...spec }, { annotations });
const weighted = (weight: string): unknown =>
  slice({
    metadata: {
      name: 'web-1',
      namespace: 'shop',
      labels: { 'kubernetes.io/service-name': 'web' },
      annotations: { 'herald.dev/weight': weight },
    },
  });
const told = (raw: unknown): { problems: string[]; warnings: string[]; usable: boolean } => {
  const { object, problems, warnings } = parseObject(raw);
  const text = (list: typeof problems): string[] => list.map(({ field, message, fix }) => `${field}: ${message}; ${fix}`);
  return { problems: text(problems), warnings: text(warnings), usable: object !== undefined };
};

const oneOf =
  'write one of random, round-robin, weighted-round-robin, least-connections, weighted-least-connections, shortest-expected-delay, ' +
  'never-queue, consistent, source-hash, destination-hash, rr, wrr, lc, wlc, sed, nq, mh, sh, dh';

describe('load-balancing annotations of a Service', () => {
  test('algorithm and slots are read', () => {
    const { object } = parseObject(annotated({ 'herald.dev/load-balancing': 'consistent', 'herald.dev/hash-slots': '4093' }));
    expect(object).toMatchObject({ loadBalancing: 'consistent', hashSlots: 4093 });
    expect(parseObject(annotated({ 'herald.dev/load-balancing': 'random' })).object).toMatchObject({ loadBalancing: 'random' });
    const silent = parseObject(annotated({})).object;
    expect(silent).not.toHaveProperty('loadBalancing');
    expect(silent).not.toHaveProperty('hashSlots');
  });

  test.each([
    ['herald.dev/load-balancing', 'maglev', oneOf],
    ['herald.dev/load-balancing', 'lblc', oneOf],
    ['herald.dev/hash-slots', '1024', 'write one of 251, 1021, 4093, 16381'],
  ])('%s: %s is reported and left out, and the Service stays usable', (name, value, fix) => {
    const raw = annotated({ [name]: value });
    expect(told(raw)).toEqual({ problems: [`metadata.annotations["${name}"]: is "${value}"; ${fix}`], warnings: [], usable: true });
    expect(parseObject(raw).object).not.toHaveProperty(name === 'herald.dev/hash-slots' ? 'hashSlots' : 'loadBalancing');
  });

  test.each([
    ['rr', 'round-robin'],
    ['wrr', 'weighted-round-robin'],
    ['lc', 'least-connections'],
    ['wlc', 'weighted-least-connections'],
    ['sed', 'shortest-expected-delay'],
    ['nq', 'never-queue'],
    ['mh', 'consistent'],
    ['sh', 'source-hash'],
    ['dh', 'destination-hash'],
  ])('the short name %s of IPVS means %s, in the annotation and in HeraldConfig', (short, loadBalancing) => {
    expect(parseObject(annotated({ 'herald.dev/load-balancing': short })).object).toMatchObject({ loadBalancing });
    expect(parseObject(ours('HeraldConfig', { loadBalancing: short }, 'default')).object).toMatchObject({ loadBalancing });
  });

  test.each([
    ['lblc', undefined],
    ['rr', 'round-robin'],
  ])('the annotation of kube-router with %s gets the warning that says what to write', (written, ours) => {
    const { warnings } = told(annotated({ 'kube-router.io/service.scheduler': written }));
    expect(warnings).toEqual([expect.stringContaining(`herald.dev/load-balancing${ours === undefined ? ' with one of' : ''}`)]);
  });

  test('HeraldConfig sets the default algorithm', () => {
    expect(parseObject(ours('HeraldConfig', {}, 'default')).object).toMatchObject({
      consistentHashing: false,
      loadBalancing: 'random',
      hashSlots: 1021,
    });
    const spec = { consistentHashing: true, hashSlots: 251 };
    expect(parseObject(ours('HeraldConfig', spec, 'default')).object).toMatchObject(spec);
    expect(told(ours('HeraldConfig', { hashSlots: 1024 }, 'default')).problems).toEqual([
      'spec.hashSlots: must be one of 251, 1021, 4093, 16381, not 1024; ',
    ]);
  });
});

describe('weight annotation of an EndpointSlice', () => {
  test('a valid weight is read', () => {
    expect(parseObject(weighted('100')).object).toMatchObject({ weight: 100 });
    expect(parseObject(slice()).object).not.toHaveProperty('weight');
  });

  test.each(['0', '101', '-1', '1.5', 'heavy', '1e2'])('the invalid weight %s is left out, and the endpoints stay', (weight) => {
    expect(told(weighted(weight))).toEqual({
      problems: [`metadata.annotations["herald.dev/weight"]: is "${weight}"; write a whole number from 1 to 100`],
      warnings: [],
      usable: true,
    });
    expect(parseObject(weighted(weight)).object).not.toHaveProperty('weight');
  });
});
