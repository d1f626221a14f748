import { beforeEach, describe, expect, test } from 'vitest';
import { Election } from '../../../../src/kube/election/election.ts';
import { fencedClient } from '../../../../src/kube/client/fenced-client.ts';
import type { Clock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeLeaseServer, type FakeLeaseClient } from './fake-lease-server.ts';

const lease = { namespace: 'herald-system', name: 'herald-controller' };

let server: FakeLeaseServer;
let clock: VirtualClock;
let warned: object[];

beforeEach(() => {
  server = new FakeLeaseServer();
  clock = new VirtualClock();
  warned = [];
});

interface Candidate {
  readonly election: Election;
  readonly client: FakeLeaseClient;
  /** Makes the watch report a change. */
  readonly hint: () => void;
  leads: boolean;
  lost: boolean;
}

function candidate(identity: string, own: Clock = clock): Candidate {
  const client = server.client();
  let hint = (): void => undefined;
  const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) };
  const election = new Election(
    { client, watch: (_lease, changed) => void (hint = changed), clock: own, random: () => 0.5, log },
    { lease, identity },
  );
  const made: Candidate = { election, client, hint: () => hint(), leads: false, lost: false };
  void election.campaign().then((elected) => (made.leads = elected));
  void election.lost.then(() => (made.lost = true));
  return made;
}

/** Advances time in small steps and answers every request at once. */
async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= 100) {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    clock.advance(Math.min(100, left));
  }
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

describe('an election', () => {
  test('the first process leads and renews the Lease every two seconds', async () => {
    const one = candidate('one');
    await pass(20_100);
    expect(one.leads).toBe(true);
    expect(one.election.mayWrite()).toBe(true);
    expect(server.writes).toBe(11);
    expect(server.lease).toMatchObject({
      spec: {
        holderIdentity: 'one',
        leaseDurationSeconds: 15,
        leaseTransitions: 0,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        renewTime: '2026-01-01T00:00:20.000000Z',
      },
    });
  });

  test('a waiting process takes over 15 s after it saw the last renewal, when the leader has stopped writing', async () => {
    const one = candidate('one');
    await pass(1000);
    const other = candidate('other');
    await pass(9000);
    expect([one.leads, other.leads]).toEqual([true, false]);
    one.client.cut = true;
    await pass(10_000);
    expect(one.lost).toBe(true);
    expect(one.election.mayWrite()).toBe(false);
    expect(other.leads).toBe(false);
    await pass(7000);
    expect(other.leads).toBe(true);
    expect(server.lease).toMatchObject({ spec: { holderIdentity: 'other', leaseTransitions: 1 } });
  });

  test('a process that waits writes nothing while the leader renews', async () => {
    candidate('one');
    await pass(1000);
    const other = candidate('other');
    let writes = 0;
    other.client.beforeWrite = async () => void writes++;
    for (let second = 0; second < 20; second++) {
      other.hint();
      await pass(1000);
    }
    expect(writes).toBe(0);
    expect(server.holders).toEqual(['one']);
  });

  test('a waiting process takes over at once when the leader releases the Lease and the watch reports it', async () => {
    const one = candidate('one');
    await pass(1000);
    const other = candidate('other');
    await pass(1000);
    await one.election.resign();
    expect(server.lease).toMatchObject({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } });
    other.hint();
    await pass(0);
    expect(other.leads).toBe(true);
    expect(one.lost).toBe(false);
    expect(one.election.mayWrite()).toBe(false);
  });

  test('a process whose Lease has no namespace tries every few seconds, says the fix once, and leads when it exists', async () => {
    server.hasNamespace = false;
    const one = candidate('one');
    let attempts = 0;
    one.client.beforeWrite = async () => void attempts++;
    await pass(60_000);
    // A pause is 2 s, and up to 2.4 s more at random: 3.2 s here.
    expect(attempts).toBeLessThanOrEqual(20);
    expect(attempts).toBeGreaterThanOrEqual(15);
    const fix =
      'create the namespace (kubectl create namespace herald-system), or name the namespace of Herald with --leader-elect-namespace';
    expect(warned).toEqual([{ ...lease, problem: 'the API server answered 404: namespaces "herald-system" not found', fix }]);
    expect(one.election.refusal()).toBe(
      `the Lease herald-system/herald-controller cannot be had: the API server answered 404: namespaces "herald-system" not found. Fix: ${fix}`,
    );
    server.hasNamespace = true;
    await pass(5_000);
    expect(one.leads).toBe(true);
    expect(one.election.refusal()).toBeUndefined();
  });

  test('resign also ends the campaign of a process that waits or is about to lead', async () => {
    candidate('one');
    await pass(1000);
    const other = candidate('other');
    await pass(1000);
    await other.election.resign();
    expect(other.leads).toBe(false);
    expect(server.holders).toEqual(['one']);

    // Its request to take the Lease is in progress.
    server = new FakeLeaseServer();
    const third = candidate('third');
    const answer = Promise.withResolvers<void>();
    third.client.beforeWrite = () => answer.promise;
    await pass(0);
    const resigned = third.election.resign();
    answer.resolve();
    await resigned;
    expect(third.leads).toBe(false);
    expect(server.holders).toEqual(['third', '']);
  });

  test('a process whose write succeeded while its response was lost leads', async () => {
    const one = candidate('one');
    one.client.losesAnswers = true;
    await pass(1000);
    expect([one.leads, server.holders]).toEqual([false, ['one']]);
    one.client.losesAnswers = false;
    await pass(4000);
    expect(one.leads).toBe(true);
    expect(warned).toHaveLength(1);
    one.client.losesAnswers = true;
    await pass(2000);
    one.client.losesAnswers = false;
    await pass(30_000);
    expect(one.lost).toBe(false);
    expect(one.election.mayWrite()).toBe(true);
  });

  test('a leader stops leading when another process takes or deletes its Lease', async () => {
    for (const change of [
      () => void server.write({ method: 'PUT', path: '', body: { ...server.read(), spec: { holderIdentity: 'somebody' } } }),
      () => void (server.lease = undefined),
    ]) {
      server = new FakeLeaseServer();
      const one = candidate('one');
      await pass(1000);
      change();
      await pass(2000);
      expect(one.lost).toBe(true);
      expect(one.election.term.aborted).toBe(true);
    }
  });
});

describe('the fence', () => {
  const write = { method: 'PATCH', path: '/x', body: {} } as const;
  const reads = { get: async () => ({}), page: async () => ({ items: [], resourceVersion: '1' }) };

  test('the fence lets no write begin after ten seconds without renewal, by our own clock', async () => {
    const one = candidate('one');
    await pass(3000);
    const written: unknown[] = [];
    const client = fencedClient({ ...reads, write: async (write) => written.push(write) }, one.election);
    await client.write(write);
    one.client.cut = true;
    await pass(8900);
    await client.write(write);
    expect(written).toHaveLength(2);
    await pass(200);
    await expect(client.write(write)).rejects.toMatchObject({ code: 'notLeading' });
    expect(written).toHaveLength(2);
    expect(await client.get('/x')).toEqual({});
  });

  test('the fence holds when the process was stopped and no timer fired', async () => {
    let asleep = 0;
    const own: Clock = { now: () => clock.now() + asleep, date: () => clock.date(), after: (ms, callback) => clock.after(ms, callback) };
    const one = candidate('one', own);
    await pass(100);
    expect(one.election.mayWrite()).toBe(true);
    asleep = 10_100;
    expect(one.election.mayWrite()).toBe(false);
  });

  test('the fence holds when the monotonic clock stopped but the wall clock did not', async () => {
    let dayAhead = 0;
    const own: Clock = {
      now: () => clock.now(),
      date: () => new Date(clock.date().getTime() + dayAhead),
      after: (ms, callback) => clock.after(ms, callback),
    };
    const one = candidate('one', own);
    await pass(100);
    dayAhead = 60_000;
    expect(one.election.mayWrite()).toBe(false);
    await pass(2100);
    expect(one.election.mayWrite()).toBe(true);
  });

  test('the fence aborts requests in progress when the Lease is lost', async () => {
    const one = candidate('one');
    await pass(1000);
    const client = fencedClient(
      {
        ...reads,
        write: (_, signal) => new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
      },
      one.election,
    );
    const writing = client.write(write);
    one.client.cut = true;
    await Promise.all([expect(writing).rejects.toMatchObject({ code: 'notLeading' }), pass(12_000)]);
  });
});
