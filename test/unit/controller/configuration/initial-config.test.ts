import { beforeEach, describe, expect, test } from 'vitest';
import { InitialConfig } from '../../../../src/controller/configuration/initial-config.ts';
import { KubeError } from '../../../../src/kube/error.ts';
import { clusterConfig } from '../../../../src/model/kinds/default-config.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import type { Log } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const manifest = { kind: 'HeraldConfig', spec: { services: 'external', defaultClass: false } };
let clock: VirtualClock;
let snapshot: { config: Snapshot['config'] };
/** The results of successive calls of `make`; the last one repeats. */
let answers: (() => Promise<void>)[];
let calls: object[];
let lines: string[];
let others: () => Promise<string[]>;

beforeEach(() => {
  clock = new VirtualClock();
  snapshot = { config: clusterConfig };
  answers = [];
  calls = [];
  lines = [];
  others = async () => [];
});

const made = async (): Promise<void> => undefined;
const failing =
  (code: KubeError['code'], message: string = code) =>
  async (): Promise<void> => {
    throw new KubeError(code, message);
  };

function begin(wanted: object = manifest): InitialConfig {
  const say = (level: string) => (fields: object, message: string) => void lines.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') } as unknown as Log;
  const make = (given: object): Promise<void> => {
    calls.push(given);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer?.() ?? made();
  };
  const initial = new InitialConfig({ snapshot, make, otherLoadBalancers: () => others(), clock, random: () => 0, log }, wanted);
  initial.start();
  return initial;
}

/** Runs everything that can run without advancing the clock. */
async function turn(): Promise<void> {
  for (let round = 0; round < 20; round++) await Promise.resolve();
}

async function pass(milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  await turn();
}

test('HeraldConfig is created once when there is none', async () => {
  begin();
  await turn();
  expect(calls).toEqual([manifest]);
  expect(lines.join()).toContain('was created');
  await pass(3_600_000);
  expect(calls).toHaveLength(1);
  expect(clock.pending).toBe(0);
});

test('an existing HeraldConfig causes no request', async () => {
  snapshot.config = { ...clusterConfig, metadata: { ...clusterConfig.metadata, uid: 'u1' } };
  begin();
  await turn();
  expect(calls).toEqual([]);
});

test('a HeraldConfig that appears while its kind is not served yet is kept', async () => {
  answers = [failing('notFound')];
  begin();
  await turn();
  snapshot.config = { ...clusterConfig, metadata: { ...clusterConfig.metadata, uid: 'u1' } };
  await pass(400);
  expect(calls).toHaveLength(1);
  expect(clock.pending).toBe(0);
});

test('a HeraldConfig that another client created first is kept', async () => {
  answers = [failing('conflict')];
  begin();
  await pass(60_000);
  expect(calls).toHaveLength(1);
  expect(lines.join()).toContain('is kept');
});

describe('a refusal', () => {
  test.each(['notFound', 'forbidden', 'refused', 'failing', 'unreachable'] as const)(
    'a refusal (%s) is logged once and retried with growing pauses',
    async (code) => {
      answers = [failing(code), failing(code), failing(code), made];
      begin();
      await turn();
      expect(calls).toHaveLength(1);
      await pass(399);
      expect(calls).toHaveLength(1);
      await pass(1);
      expect(calls).toHaveLength(2);
      await pass(799);
      expect(calls).toHaveLength(2);
      await pass(1);
      await pass(1600);
      expect(calls).toHaveLength(4);
      expect(lines.filter((line) => line.includes('yet'))).toHaveLength(1);
      expect(lines.at(-1)).toContain('was created');
    },
  );

  test('a refusal with another reason is logged too', async () => {
    answers = [failing('forbidden', 'no right'), failing('refused', 'spec is wrong')];
    begin();
    await turn();
    await pass(400);
    expect(lines).toEqual([expect.stringContaining('no right'), expect.stringContaining('spec is wrong')]);
  });

  test('creation ends when another controller leads', async () => {
    answers = [failing('notLeading')];
    begin();
    await pass(60_000);
    expect(calls).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});

test('stop ends creation between attempts and during one', async () => {
  answers = [failing('unreachable')];
  const waiting = begin();
  await turn();
  await waiting.stop();
  expect(clock.pending).toBe(0);
  const { promise, reject } = Promise.withResolvers<undefined>();
  answers = [() => promise];
  const asking = begin();
  await turn();
  const stopped = asking.stop();
  reject(new Error('aborted'));
  await stopped;
  expect(calls).toHaveLength(2);
});

describe('Services without a class', () => {
  const open = { kind: 'HeraldConfig', spec: { services: 'external' } };

  test('Herald serves them when no other load balancer controller is found', async () => {
    begin(open);
    await turn();
    expect(calls).toEqual([{ kind: 'HeraldConfig', spec: { services: 'external', defaultClass: true } }]);
    expect(lines.join()).toContain('"defaultClass":true');
  });

  test('Herald leaves them to another load balancer controller, and the log names the evidence', async () => {
    others = async () => ['the API group metallb.io of MetalLB'];
    begin(open);
    await turn();
    expect(calls).toEqual([{ kind: 'HeraldConfig', spec: { services: 'external', defaultClass: false } }]);
    expect(lines.join()).toMatch(/"defaultClass":false.*the API group metallb\.io of MetalLB/);
  });

  test.each([{ defaultClass: true }, { defaultClass: false }, { compat: 'metallb' }])('nothing is looked for with %j', async (spec) => {
    others = () => Promise.reject(new Error('not asked for'));
    begin({ kind: 'HeraldConfig', spec });
    await turn();
    expect(calls).toEqual([{ kind: 'HeraldConfig', spec }]);
  });

  test('the object waits while the API server does not say which groups it has', async () => {
    let attempts = 0;
    others = async () => {
      if (++attempts === 1) throw new KubeError('unreachable', 'away');
      return [];
    };
    begin(open);
    await turn();
    expect(calls).toEqual([]);
    await pass(400);
    expect(calls).toEqual([{ kind: 'HeraldConfig', spec: { services: 'external', defaultClass: true } }]);
  });
});
