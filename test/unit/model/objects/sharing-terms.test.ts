import { describe, expect, test } from 'vitest';
import { assignedMessage, changedSinceDecision, commonPort, termsInMessage } from '../../../../src/model/objects/sharing-terms.ts';
import { defined } from '../../../../src/lang/defined.ts';
import { service } from '../../decisions/fixtures.ts';

const sharer = (ports: readonly string[], sharingKey = 'k') => service({ name: 'web', ports, sharingKey });

describe('the message of condition AddressAssigned', () => {
  test('contains the terms of sharing, and they can be read again', () => {
    const message = assignedMessage(sharer(['a:443', 'b:53/UDP']));
    expect(message).toBe('The Service has the addresses it asks for and may share them: key "k", ports 443/TCP, 53/UDP');
    expect(termsInMessage(message)).toBe('key "k", ports 443/TCP, 53/UDP');
  });

  test('contains no terms when the Service does not share', () => {
    for (const one of [service({ name: 'web' }), service({ name: 'web', sharingKey: '' })]) {
      expect(assignedMessage(one)).toBe('The Service has the addresses it asks for');
      expect(termsInMessage(assignedMessage(one))).toBeUndefined();
    }
  });

  test('has a bounded length when the sharing key is long', () => {
    expect(assignedMessage(sharer(['80'], 'k'.repeat(100_000))).length).toBeLessThan(1100);
  });
});

describe('a Service whose record has terms of sharing', () => {
  const recorded = termsInMessage(assignedMessage(sharer(['a:443', 'b:80'])));

  test.each<[string, ReturnType<typeof service>, string | undefined, boolean]>([
    ['has the same terms', sharer(['b:80', 'a:443']), recorded, false],
    ['has another port', sharer(['a:443', 'b:81']), recorded, true],
    ['has another key', sharer(['a:443', 'b:80'], 'l'), recorded, true],
    ['has no key', service({ name: 'web', ports: ['a:443', 'b:80'] }), recorded, true],
    ['has no terms on record', sharer(['80']), undefined, false],
  ])('one that %s', (_, now, recordedTerms, changed) => {
    expect(changedSinceDecision({ ...now, ...defined({ recordedTerms }) })).toBe(changed);
  });
});

test('Services have a port in common when number and protocol are the same', () => {
  expect(commonPort(sharer(['80']), sharer(['a:443', 'b:80']))).toBe('80/TCP');
  expect(commonPort(sharer(['53/UDP']), sharer(['53/TCP']))).toBeUndefined();
});
