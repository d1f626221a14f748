import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attributeType, messageType } from '../../wire/codes.ts';
import { withHeader } from '../../wire/header.ts';
import { octets, u16, u32 } from '../../wire/writer.ts';
import { ForeignSuiteError, octetsOfHex, type Expectation, type ForeignCase } from './foreign-case.ts';
import { PythonCases, type PythonCall, type PythonValue } from './python-cases.ts';

const folder = 'tests/topotests';
const isSuite = (name: string): boolean => name.startsWith('bgp_rfc7606_');

/** The peers that a table speaks of, except `EBGP_OAD`: that draft is no RFC, and this codec does not have it. */
const peers = [
  { sort: 'EBGP', option: 'outcome_ebgp', internal: false },
  { sort: 'IBGP', option: 'outcome_ibgp', internal: true },
] as const;

const treatments: Readonly<Record<string, Expectation['treatment']>> = { DISCARD: 'discard', WITHDRAW: 'withdraw', SESSION_RESET: 'reset' };

export const hasFrrSuite = (checkout: string): boolean =>
  existsSync(join(checkout, folder)) && readdirSync(join(checkout, folder)).some(isSuite);

/**
 * Reads the tables of FRR's tests for RFC 7606 (tests/topotests/bgp_rfc7606_*): one malformed attribute each, and the treatment that the RFC
 * demands from an external and an internal peer. The UPDATE around the attribute is ours.
 */
export function frrCases(checkout: string): ForeignCase[] {
  return readdirSync(join(checkout, folder))
    .filter(isSuite)
    .sort()
    .flatMap((name) => {
      const path = `${folder}/${name}/cases.py`;
      if (!existsSync(join(checkout, path))) throw new ForeignSuiteError(path, 'does not exist');
      const table = new PythonCases(path, readFileSync(join(checkout, path), 'utf8'));
      const notifications = table.notifications();
      return table.calls().flatMap((call) => casesOf(path, call, notifications));
    });
}

function casesOf(
  path: string,
  { line, positional, named }: PythonCall,
  notifications: ReadonlyMap<string, readonly [number, number]>,
): ForeignCase[] {
  const where = `${path}:${line}`;
  const [name, type, flags, data] = positional;
  const known = new Set(['outcome', 'outcome_ebgp', 'outcome_ebgp_oad', 'outcome_ibgp', 'json_key', 'spec', 'skip_sorts', 'nexthop']);
  const unknown = Object.keys(named).find((option) => !known.has(option));
  if (unknown !== undefined) throw new ForeignSuiteError(where, `the argument ${unknown} has no meaning here`);
  if (typeof name !== 'string' || typeof flags !== 'number' || typeof data !== 'string')
    throw new ForeignSuiteError(where, 'has no name, flags and data');
  const attribute = attributeOf(type, flags, data, named['nexthop'], where);
  const skipped = namesOf(named['skip_sorts']);
  const notification = notifications.get(name);
  return peers
    .filter(({ sort }) => !skipped.includes(sort))
    .map(({ sort, option, internal }) => {
      const [outcome = ''] = namesOf(named[option] ?? named['outcome']);
      const treatment = treatments[outcome];
      if (treatment === undefined) throw new ForeignSuiteError(where, `the outcome "${outcome}" for ${sort} has no meaning here`);
      return {
        suite: 'FRR',
        name: `${where} ${name} (${internal ? 'internal' : 'external'} peer)`,
        bytes: updateWith(internal, attribute),
        session: { internal },
        expected: { treatment, ...(notification === undefined ? {} : { notification }) },
        section: typeof named['spec'] === 'string' ? named['spec'] : '',
        attribute: { type: attribute.type, flags: attribute.flags, without: updateWith(internal, undefined, attribute.type) },
      };
    });
}

interface Attribute {
  readonly type: number;
  readonly flags: number;
  readonly value: Uint8Array;
}

/** A case about the next hop has its address in place of an attribute. */
function attributeOf(
  type: PythonValue | undefined,
  flags: number,
  data: string,
  nextHop: PythonValue | undefined,
  where: string,
): Attribute {
  if (typeof nextHop === 'string') {
    return { type: attributeType.nextHop, flags: 0x40, value: Uint8Array.from(nextHop.split('.').map(Number)) };
  }
  if (typeof type !== 'number') throw new ForeignSuiteError(where, 'has no type of an attribute');
  return { type, flags, value: octetsOfHex(data, where) };
}

function namesOf(value: PythonValue | undefined): string[] {
  if (Array.isArray(value)) return (value as PythonValue[]).flatMap(namesOf);
  return typeof value === 'object' && value !== null && 'name' in value ? [value.name] : [];
}

/** Encodes an UPDATE for 192.0.2.0/24. The attribute replaces a good one of its type; `leftOut` is missing unless the route needs it. */
function updateWith(internal: boolean, attribute: Attribute | undefined, leftOut?: number): Uint8Array {
  const good: Attribute[] = [
    { type: attributeType.origin, flags: 0x40, value: octets(0) },
    { type: attributeType.asPath, flags: 0x40, value: internal ? octets() : octets(2, 1, u32(65_001)) },
    { type: attributeType.nextHop, flags: 0x40, value: octets(10, 0, 0, 2) },
    ...(internal ? [{ type: attributeType.localPref, flags: 0x40, value: octets(u32(100)) }] : []),
  ];
  const mandatory = new Set<number>([attributeType.origin, attributeType.asPath, attributeType.nextHop]);
  const kept = good.filter(({ type }) => type !== attribute?.type && (type !== leftOut || mandatory.has(type)));
  const all = (attribute === undefined ? kept : [...kept, attribute]).toSorted((a, b) => a.type - b.type);
  const block = octets(...all.map(({ type, flags, value }) => octets(flags, type, value.length, value)));
  return withHeader(messageType.update, octets(u16(0), u16(block.length), block, 24, 192, 0, 2));
}
