import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { isTransient } from '../../cloud/error.ts';
import { codes, refusalError, refusals } from '../moto/fake/refusals.ts';

const require = createRequire(import.meta.url);

/** Exceptions of the SDK whose code on the wire has another name. */
const codeOf: Readonly<Record<string, string>> = {
  ALPNPolicyNotSupported: 'ALPNPolicyNotFound',
  AccessPointNotFound: 'LoadBalancerNotFound',
  DuplicateAccessPointName: 'DuplicateLoadBalancerName',
  TooManyAccessPoints: 'TooManyLoadBalancers',
  InvalidEndPoint: 'InvalidInstance',
};
/** They concern resources that Herald does not use, or are the class of all others. */
const isOfOthers = /TrustStore|^Rule|ServiceException$/;

const packages = { elbv2: '@aws-sdk/client-elastic-load-balancing-v2', elb: '@aws-sdk/client-elastic-load-balancing' } as const;

function documented(prefix: keyof typeof packages, name: string): string[] {
  const types = join(dirname(require.resolve(packages[prefix])), '../dist-types/commands', `${name}Command.d.ts`);
  const thrown = [...readFileSync(types, 'utf8').matchAll(/@throws \{@link (\w+)\}/g)].map(([, found = '']) => found);
  const short = thrown.filter((found) => !isOfOthers.test(found)).map((found) => found.replace(/Exception$/, ''));
  return [...new Set(short.map((found) => codeOf[found] ?? found))].toSorted();
}

describe('the table of refusals', () => {
  test.each(Object.entries(codes).filter(([operation]) => !operation.startsWith('ec2:')))(
    'has the codes that the documentation of the SDK lists for %s',
    (operation, listed) => {
      const [prefix = '', name = ''] = operation.split(':');
      expect([...listed].toSorted()).toEqual(documented(prefix as keyof typeof packages, name));
    },
  );

  test('has a condition, a message and a source for each', () => {
    for (const { condition, message, source } of refusals) {
      expect(condition.length * message.length).toBeGreaterThan(0);
      expect(source).toMatch(/^https:\/\/docs\.aws\.amazon\.com\//);
    }
  });

  test('has no code that Herald takes for a failure of the network or of credentials', () => {
    const wrong = refusals.map(refusalError).filter(({ code }) => isTransient(code) && code !== 'inUse' && code !== 'throttled');
    expect(wrong.map(({ operation, awsCode }) => `${operation} ${awsCode}`)).toEqual([]);
  });
});
