import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { awsOptionsOf, type AwsFlags } from '../../../../providers/aws/tables/options.ts';
import { addProviderOptions } from '../../../../src/cli/options/provider-option.ts';

addBuiltInProviders();

const parse = (...words: readonly string[]): AwsFlags =>
  addProviderOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parse(words, { from: 'user' })
    .opts();

test('AWS options default to nothing but the cluster name', () => {
  expect(parse().awsClusterName).toBeUndefined();
});

test('given options become settings; the provider keeps its defaults for the rest', () => {
  const flags = parse('--aws-cluster-name', 'production', '--aws-vpc-id', 'vpc-0a', '--aws-node-rules=leave', '--aws-retire-seconds=0');
  expect(awsOptionsOf(flags, 'production', {})).toEqual({
    clusterName: 'production',
    takeOver: [],
    vpcId: 'vpc-0a',
    classless: 'off',
    defaultScheme: 'internal',
    defaultTargetType: 'instance',
    defaultTags: {},
    upstreamBackendHttps: false,
    certificateDiscovery: false,
    manageNodeRules: false,
    retireSeconds: 0,
  });
});

test('the region comes from the option, else AWS_REGION, else AWS_DEFAULT_REGION', () => {
  const both = { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'eu-west-2' };
  expect(awsOptionsOf(parse('--aws-region', 'us-east-1'), 'a', both).region).toBe('us-east-1');
  expect(awsOptionsOf(parse(), 'a', both).region).toBe('eu-west-1');
  expect(awsOptionsOf(parse(), 'a', { AWS_DEFAULT_REGION: 'eu-west-2' }).region).toBe('eu-west-2');
  expect(awsOptionsOf(parse(), 'a', { AWS_REGION: '' }).region).toBeUndefined();
});

test('a take-over names UIDs', () => {
  const uid = '0f9d1a34-6f3c-4a7e-9a55-1b2c3d4e5f60';
  const flags = parse('--aws-take-over', `${uid}, ${uid.toUpperCase()}`);
  expect(awsOptionsOf(flags, 'a', {}).takeOver).toEqual([uid, uid]);
});

test('tags are pairs, and a value may hold "="', () => {
  expect(parse('--aws-default-tags', 'team=edge, cost=a=b').awsDefaultTags).toEqual({ team: 'edge', cost: 'a=b' });
});

test.each([
  ['--aws-cluster-name', ''],
  ['--aws-cluster-name', 'two words'],
  ['--aws-take-over', ''],
  ['--aws-take-over', 'production'],
  ['--aws-vpc-id', 'subnet-1'],
  ['--aws-classless', 'all'],
  ['--aws-default-tags', 'team'],
  ['--aws-default-tags', 'aws:x=1'],
  ['--aws-default-tags', 'Aws:x=1'],
  ['--aws-default-tags', 'HERALD.dev/cluster=1'],
  ['--aws-default-tags', 'herald.dev/cluster=other'],
  ['--aws-retire-seconds', '-1'],
  ['--aws-orphan-seconds', '99999999'],
])('%s %j is refused', (option, text) => {
  expect(() => parse(option, text)).toThrow(/invalid|Write|Allowed|not for you/);
});
