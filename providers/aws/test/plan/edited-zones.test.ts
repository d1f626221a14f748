import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { awsMember } from '../support/stack-fixture.ts';
import {
  accountFor,
  anyZoneEdit,
  choices,
  servingZones,
  watchServingZones,
  zoneMember,
  zoneTexts,
  type Choice,
  type ZoneEdit,
} from '../support/zone-edits.ts';
import { runs } from '../../../../test/support/property.ts';

const stack = stackOf(awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'] }));
const all = [0, 1, 2];

const edit = (addresses: ZoneEdit['addresses'], numbers: readonly number[] = [], zones = all): ZoneEdit => ({ zones, addresses, numbers });

describe.each(choices)('a load balancer with subnets by %s', (choice) => {
  const facing = (one: ZoneEdit): Member => zoneMember('internet-facing', choice, one);
  const internal = (one: ZoneEdit): Member => zoneMember('internal', choice, one);

  test.each([
    ['Elastic IPs are added', facing(edit('none')), facing(edit('fixed', [1, 2, 3])), 'eipalloc-1 eipalloc-2 eipalloc-3'],
    ['one Elastic IP changes', facing(edit('fixed', [1, 2, 3])), facing(edit('fixed', [1, 4, 3])), 'eipalloc-1 eipalloc-4 eipalloc-3'],
    ['two Elastic IPs are swapped', facing(edit('fixed', [1, 2, 3])), facing(edit('fixed', [2, 1, 3])), 'eipalloc-2 eipalloc-1 eipalloc-3'],
    ['Elastic IPs rotate', facing(edit('fixed', [1, 2, 3])), facing(edit('fixed', [2, 3, 1])), 'eipalloc-2 eipalloc-3 eipalloc-1'],
    ['private addresses are added', internal(edit('none')), internal(edit('fixed', [1, 2, 3])), '10.0.100.11 10.0.101.12 10.0.102.13'],
    [
      'one private address changes',
      internal(edit('fixed', [1, 2, 3])),
      internal(edit('fixed', [1, 4, 3])),
      '10.0.100.11 10.0.101.14 10.0.102.13',
    ],
    ['IPv6 addresses are added', facing(edit('none')), facing(edit('six', [1, 2, 3])), '2001:db8::11 2001:db8:0:1::12 2001:db8:0:2::13'],
    [
      'one IPv6 address changes',
      facing(edit('six', [1, 2, 3])),
      facing(edit('six', [1, 4, 3])),
      '2001:db8::11 2001:db8:0:1::14 2001:db8:0:2::13',
    ],
  ])('keeps two of three zones serving when %s', async (_, before, after, addresses) => {
    const account = accountFor(choice);
    await account.settle(stack, [before]);
    expect(servingZones(account)).toBe(3);
    const fewest = watchServingZones(account);
    const { errors } = await account.settle(stack, [after]);
    expect([...errors]).toEqual([]);
    const shown = zoneTexts(account).map((text) => text.split(' ').slice(1).join('+'));
    expect(shown.join(' ')).toBe(addresses);
    // AWS adds IPv6 addresses in place, together with dual stack.
    expect(fewest()).toBeGreaterThanOrEqual(2);
  });

  test.each([
    ['two Elastic IPs', facing(edit('none')), facing(edit('fixed', [1, 2]))],
    ['an Elastic IP twice', facing(edit('none')), facing(edit('fixed', [1, 1, 2]))],
    ['two private addresses', internal(edit('none')), internal(edit('fixed', [1, 2]))],
    ['two IPv6 addresses', facing(edit('none')), facing(edit('six', [1, 2]))],
  ])('stays as it is, with an error, when %s are named for three zones', async (_, before, after) => {
    const account = accountFor(choice);
    await account.settle(stack, [before]);
    const writes = account.cloud.writes.length;
    const { errors } = await account.reconcile(stack, [after]);
    expect([...errors.values()].flat().map(({ code }) => code)).toEqual(['AwsAddressesDoNotFit']);
    expect(account.cloud.writes.slice(writes)).toEqual([]);
    await account.settle(stack, [before]);
    expect(servingZones(account)).toBe(3);
  });

  test.each([
    ['an Elastic IP does not exist', facing(edit('none')), facing(edit('fixed', [1, 2, 9])), 'eipalloc-9 does not exist'],
    ['another network interface has an Elastic IP', facing(edit('none')), facing(edit('fixed', [1, 2, 6])), 'eipalloc-6 is in use'],
    [
      'another network interface has a private address',
      internal(edit('none')),
      internal(edit('fixed', [1, 2, 9])),
      '10.0.102.19 is in use',
    ],
    ['another network interface has an IPv6 address', facing(edit('none')), facing(edit('six', [1, 2, 9])), '2001:db8:0:2::19 is in use'],
  ])('stays as it is, with an error, when %s', async (_, before, after, why) => {
    const account = accountFor(choice);
    account.world.associated.set('eipalloc-6', 'eni-1');
    account.world.podInterfaces.push({
      NetworkInterfaceId: 'eni-1',
      Description: 'database',
      VpcId: 'vpc-1',
      Groups: [],
      PrivateIpAddresses: [{ PrivateIpAddress: '10.0.102.19' }],
      Ipv6Addresses: [{ Ipv6Address: '2001:db8:0:2::19' }],
    });
    await account.settle(stack, [before]);
    const writes = account.cloud.writes.length;
    const { errors } = await account.reconcile(stack, [after]);
    expect([...errors.values()].flat().map(reasonText).join()).toContain(why);
    expect(account.cloud.writes.slice(writes)).toEqual([]);
  });

  test.each([
    ['internal', 'private-ipv4-addresses', '10.0.100.3,10.0.101.9,10.0.102.9', '10.0.100.3'],
    ['internal', 'private-ipv4-addresses', '10.0.100.9,10.0.101.255,10.0.102.9', '10.0.101.255'],
    ['internet-facing', 'ipv6-addresses', '2001:db8::9,2001:db8:0:1::,2001:db8:0:2::9', '2001:db8:0:1::'],
    ['internet-facing', 'ipv6-addresses', '2001:db8::9,2001:db8:0:1::4,2001:db8:0:2::9', undefined],
    ['internal', 'private-ipv4-addresses', '10.0.100.4,10.0.101.254,10.0.102.9', undefined],
  ] as const)('keeps its zones when AWS keeps an address for itself (%s, %s: %s)', async (scheme, key, addresses, reserved) => {
    const account = accountFor(choice);
    const type = key === 'ipv6-addresses' ? { 'ip-address-type': 'dualstack' } : {};
    const { annotations: plain } = zoneMember(scheme, choice, edit('none')).service.metadata;
    const member = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations: { ...plain, ...type, [key]: addresses } });
    await account.settle(stack, [zoneMember(scheme, choice, edit('none'))]);
    const writes = account.cloud.writes.length;
    const { errors } = await account.reconcile(stack, [member]);
    expect([...errors.values()].flat().map(reasonText).join()).toContain(reserved === undefined ? '' : `${reserved} is not available`);
    expect(account.cloud.writes.length > writes).toBe(reserved === undefined);
  });

  test('stays as it is, with an error, when a subnet has too few free addresses to leave and join it', async () => {
    const account = accountFor(choice);
    await account.settle(stack, [facing(edit('none'))]);
    const subnet = account.world.subnets.get('subnet-public-1');
    if (subnet !== undefined) account.world.subnets.set('subnet-public-1', { ...subnet, AvailableIpAddressCount: 6 });
    const writes = account.cloud.writes.length;
    const { errors } = await account.reconcile(stack, [facing(edit('fixed', [1, 2, 3]))]);
    expect([...errors.values()].flat().map(reasonText)).toEqual(['subnet subnet-public-1 has 7 free addresses, and AWS needs 8']);
    expect(account.cloud.writes.slice(writes)).toEqual([]);
  });

  test('gets all its zones back when addresses are removed while they are being exchanged', async () => {
    const account = accountFor(choice);
    await account.settle(stack, [facing(edit('none'))]);
    await account.reconcile(stack, [facing(edit('fixed', [1, 2, 3]))]);
    expect(zoneTexts(account)).toHaveLength(2);
    await account.restart(stack);
    await account.settle(stack, [facing(edit('none'))]);
    expect(servingZones(account)).toBe(3);
  });
});

interface History {
  readonly scheme: 'internal' | 'internet-facing';
  readonly account: 'routes' | 'roles';
  readonly edits: readonly {
    readonly named: Choice | undefined;
    readonly edit: ZoneEdit;
    readonly passes: number;
    readonly crash: boolean;
  }[];
}

const anyHistory: fc.Arbitrary<History> = fc.record({
  scheme: fc.constantFrom('internal' as const, 'internet-facing' as const),
  account: fc.constantFrom('routes' as const, 'roles' as const),
  edits: fc.array(
    fc.record({
      named: fc.option(fc.constantFrom('ids' as const, 'names' as const), { nil: undefined }),
      edit: anyZoneEdit.chain((one) =>
        fc.integer({ min: 0, max: 9 }).map((short) => {
          return { ...one, numbers: one.numbers.slice(0, short === 0 ? 2 : 3) };
        }),
      ),
      passes: fc.nat(25),
      crash: fc.boolean(),
    }),
    { minLength: 2, maxLength: 4 },
  ),
});

/** Addresses for named zones are as many as the zones. */
function memberOf({ scheme, account }: History, { named, edit }: History['edits'][number]): Member {
  const numbers = named === undefined ? edit.numbers : edit.numbers.slice(0, edit.zones.length);
  return zoneMember(scheme, named ?? account, { ...edit, numbers });
}

describe('from any reachable state and for any edit', () => {
  test('serving zones stay above min(before, desired) - 1, and the end equals a fresh creation', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const account = accountFor(history.account);
        for (const one of history.edits.slice(0, -1)) {
          const member = memberOf(history, one);
          for (let pass = 0; pass < one.passes; pass++) {
            const { requeueSeconds } = await account.reconcile(stack, [member]);
            account.advance(Math.min(requeueSeconds, 30));
          }
          if (one.crash) await account.restart(stack);
        }
        const last = history.edits.at(-1);
        if (last === undefined) return;
        const member = memberOf(history, last);
        const fresh = accountFor(history.account);
        const { errors: wrong } = await fresh.settle(stack, [member]);
        const before = servingZones(account);
        const had = zoneTexts(account);
        const fewest = watchServingZones(account);
        const start = account.cloud.writes.length;
        const { errors } = await account.settle(stack, [member]);
        expect(fewest()).toBeGreaterThanOrEqual(Math.min(before, servingZones(fresh)) - 1);
        if (wrong.size > 0 || errors.size > 0) {
          // The edit is invalid, or AWS cannot make it: nothing may be started.
          expect(subnetsOf(zoneTexts(account))).toEqual(subnetsOf(had));
          expect(account.cloud.writes.slice(start).filter(({ operation }) => operation === 'elbv2:SetSubnets')).toEqual([]);
          if (wrong.size === 0) expect(zoneTexts(fresh)).toHaveLength(1);
          return;
        }
        expect(subnetsOf(zoneTexts(account))).toEqual(subnetsOf(zoneTexts(fresh)));
        for (const [index, text] of zoneTexts(fresh).entries())
          for (const address of text.split(' ')) expect(zoneTexts(account)[index]?.split(' ')).toContain(address);
      }),
      { numRuns: runs(100) },
    );
    // 69 s at a load of 20.
  }, 600_000);
});

function subnetsOf(texts: readonly string[]): string[] {
  return texts.map((text) => text.split(' ')[0] ?? '');
}
