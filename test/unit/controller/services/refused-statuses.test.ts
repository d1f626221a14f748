import { beforeEach, expect, test } from 'vitest';
import { RefusedStatuses } from '../../../../src/controller/services/refused-statuses.ts';
import type { StatusWriter } from '../../../../src/controller/status-writer.ts';
import { answerError } from '../../../../src/kube/error.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import { limits } from '../../../../src/live/limits.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { service } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

const account = 'User "system:serviceaccount:herald-system:herald-controller" cannot patch resource "services/status" in API group ""';
let answer: Error | undefined;
let events: ObjectEvent[];
let logged: string[];
let refused: RefusedStatuses;
let writer: StatusWriter;

beforeEach(() => {
  [answer, events, logged] = [answerError(403, `services "web" is forbidden: ${account} in the namespace "shop"`), [], []];
  const say = (_: object, message: string): void => void logged.push(message);
  refused = new RefusedStatuses({
    source: new TestSource(service({ name: 'shop/web' }), service({ name: 'shop/tea' })),
    events: { record: (event) => void events.push(event) },
    log: { ...silentLog, error: say, info: say },
  });
  const write = async (): Promise<void> => {
    if (answer !== undefined) throw answer;
  };
  writer = refused.watched({
    recorded: async () => ({ addresses: new Map(), unreadable: new Map() }),
    writeService: write,
    releaseService: write,
    writeObject: async () => undefined,
    removeObject: async () => undefined,
  });
});

const write = (key: ServiceKey): Promise<unknown> =>
  writer.writeService(key, { ingress: [], conditions: [] }, { uid: 'u', resourceVersion: '1' }).catch((error: unknown) => error);

test('a refused status is in /readyz, in one Event for each Service, and in one line of the log', async () => {
  for (let attempt = 0; attempt < 3; attempt++) for (const key of ['shop/web', 'shop/tea'] as const) expect(await write(key)).toBe(answer);
  expect(refused.problem()).toBe(
    `this controller may not write the status of 2 Services, such as shop/web, so addresses and conditions are not recorded: the API server answered 403: services "web" is forbidden: ${account} in the namespace "shop". Fix: grant the right: apply manifests/base/controller-rbac.yaml of this version, or the chart (rule of the ClusterRole: apiGroups [""], resources [services/status], verbs [patch]); the status is then written within a minute`,
  );
  expect(events).toMatchObject([
    { type: 'Warning', reason: 'StatusWriteRefused', regarding: { name: 'web' }, note: expect.stringContaining(account) },
    { type: 'Warning', reason: 'StatusWriteRefused', regarding: { name: 'tea' } },
  ]);
  expect(logged).toEqual(['the API server refuses the status of a Service']);
  answer = undefined;
  await write('shop/web');
  expect(refused.present()).toMatchObject({ services: 1, names: ['shop/tea'] });
  await writer.releaseService('shop/tea', undefined);
  expect([refused.problem(), refused.size]).toEqual([undefined, 0]);
  expect(logged.at(-1)).toBe('the status of every Service is written again');
});

test('another error, or the end of a namespace, is no refusal', async () => {
  const ending = { causes: [{ reason: 'NamespaceTerminating' }] };
  for (const error of [answerError(409, ''), answerError(500, ''), answerError(403, 'ends', undefined, ending)]) {
    answer = error;
    await write('shop/web');
    expect(refused.problem()).toBeUndefined();
  }
});

test('the names of refused Services are bounded', async () => {
  for (let index = 0; index <= limits.refusedNames; index++) await write(`shop/many-${index}`);
  expect(refused.present()?.services).toBe(limits.refusedNames + 1);
  expect(refused.present()?.names).toHaveLength(limits.refusedNames);
});
