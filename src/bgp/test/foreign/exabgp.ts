import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAddress, formatAddress } from '../../../net/address.ts';
import { messageType } from '../../wire/codes.ts';
import { withHeader } from '../../wire/header.ts';
import type { WireSession } from '../../wire/message.ts';
import { segmentText } from './contents.ts';
import { ForeignSuiteError, octetsOfHex, type Contents, type ForeignCase } from './foreign-case.ts';

/**
 * Reads the messages of ExaBGP: `qa/encoding/*.ci`, which its announcements must have, and `qa/decoding/*`, with the contents as JSON. Each
 * is valid. Messages that ExaBGP makes up to be refused (`open:send-unknown-message`) are left out.
 */
export function exabgpCases(checkout: string): ForeignCase[] {
  return [...encodingCases(checkout), ...decodingCases(checkout)];
}

export const hasExabgpSuite = (checkout: string): boolean =>
  existsSync(join(checkout, 'qa/encoding')) || existsSync(join(checkout, 'qa/decoding'));

function encodingCases(checkout: string): ForeignCase[] {
  return filesIn(checkout, 'qa/encoding', (name) => name.endsWith('.ci')).flatMap(({ path, text }) => {
    const lines = text.split('\n').map((line) => line.trim());
    if (lines.includes('option:open:send-unknown-message')) return [];
    const configuration = lines.find((line) => line.startsWith('option:file:'))?.slice('option:file:'.length) ?? '';
    const session = sessionOf(checkout, configuration);
    return lines.flatMap((line, index) => {
      const raw = /^[0-9A-Z]+:raw:(.*)$/.exec(line)?.[1];
      if (raw === undefined) return [];
      const json = /^[0-9A-Z]+:json:(.*)$/.exec(lines[index + 1] ?? '')?.[1];
      return [messageCase(`${path}:${index + 1}`, raw, json, session)];
    });
  });
}

/** A file of qa/decoding has three lines: the kind of message and its family, the octets, the contents as JSON. */
function decodingCases(checkout: string): ForeignCase[] {
  return filesIn(checkout, 'qa/decoding', () => true).flatMap(({ path, text }) => {
    const [kind = '', octets = '', json] = text.split('\n').map((line) => line.trim());
    // `nlri` is the prefix alone, of a family that this codec does not decode.
    return /^(?:open|update)\b/.test(kind) ? [messageCase(`${path}:2`, octets, json, { internal: true })] : [];
  });
}

function filesIn(checkout: string, folder: string, wanted: (name: string) => boolean): { readonly path: string; readonly text: string }[] {
  if (!existsSync(join(checkout, folder))) return [];
  const names = readdirSync(join(checkout, folder)).filter(wanted).sort();
  return names.map((name) => ({ path: `${folder}/${name}`, text: readFileSync(join(checkout, folder, name), 'utf8') }));
}

/** Reads the options of the session that change the meaning of octets. */
function sessionOf(checkout: string, configuration: string): WireSession {
  const path = join(checkout, 'etc/exabgp', configuration);
  const text = configuration !== '' && existsSync(path) ? readFileSync(path, 'utf8') : '';
  const asn = (option: string): string | undefined => new RegExp(`\\b${option}\\s+(\\d+)`).exec(text)?.[1];
  return {
    internal: asn('local-as') === asn('peer-as'),
    fourOctetAsn: !/\basn4\s+disable\b/.test(text),
    addPathReceive: /\badd-path\s+send/.test(text) ? [4, 6] : [],
    maximum: 65_535,
  };
}

function messageCase(name: string, octets: string, json: string | undefined, session: WireSession): ForeignCase {
  const bytes = octetsOfHex(octets.replaceAll(/[:\s]/g, ''), name);
  // Some files of qa/decoding have only the body of an UPDATE.
  const isWhole = bytes.length >= 19 && bytes.subarray(0, 16).every((octet) => octet === 0xff);
  const contents = json === undefined || json === '' ? undefined : contentsOfJson(json, name);
  return {
    suite: 'ExaBGP',
    name,
    bytes: isWhole ? bytes : withHeader(messageType.update, bytes),
    session,
    expected: { treatment: 'valid' },
    section: '',
    ...(contents === undefined ? {} : { contents }),
  };
}

type Json = Readonly<Record<string, unknown>>;

interface JsonRoute {
  readonly nlri?: string;
  readonly 'path-information'?: string;
}

/** Describes the unicast routes, and the attributes that `contentsOf` describes too. Undefined if the JSON is of no UPDATE. */
function contentsOfJson(text: string, where: string): Contents | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ForeignSuiteError(where, 'is followed by a line that is no JSON');
  }
  const update = at(parsed, 'neighbor', 'message', 'update');
  if (update === undefined) return undefined;
  const contents = new Set<string>();
  const attribute = at(update, 'attribute') ?? {};
  for (const family of ['ipv4 unicast', 'ipv6 unicast']) {
    for (const route of (at(update, 'withdraw')?.[family] ?? []) as JsonRoute[]) contents.add(routeText('withdraw', route));
    const announced = (at(update, 'announce')?.[family] ?? {}) as Readonly<Record<string, JsonRoute[]>>;
    for (const [nextHop, routes] of Object.entries(announced)) {
      for (const route of routes)
        if (typeof route === 'object') contents.add(`${routeText('announce', route)} via ${canonicalAddress(nextHop)}`);
    }
  }
  for (const name of ['origin', 'med', 'local-preference']) {
    const value = attribute[name];
    if (typeof value === 'string' || typeof value === 'number') contents.add(`${name} ${value}`);
  }
  for (const [index, segment] of Object.entries(at(attribute, 'as-path') ?? {})) {
    const { element, value } = segment as { readonly element: string; readonly value: number[] };
    contents.add(segmentText(Number(index), element === 'as-sequence' ? 'sequence' : 'set', value));
  }
  return contents;
}

function at(value: unknown, ...path: string[]): Json | undefined {
  const found = path.reduce<unknown>((each, key) => (isObject(each) ? each[key] : undefined), value);
  return isObject(found) ? found : undefined;
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

function routeText(what: string, { nlri = '', 'path-information': pathId }: JsonRoute): string {
  const [address = '', length = ''] = nlri.split('/');
  return `${what} ${canonicalAddress(address)}/${length}${pathId === undefined ? '' : ` path ${numberOf(pathId)}`}`;
}

/** The path identifier is written like an IPv4 address. */
function numberOf(pathId: string): number {
  const parsed = parseAddress(pathId);
  return parsed.ok ? Number(parsed.value.value) : Number(pathId);
}

function canonicalAddress(text: string): string {
  const parsed = parseAddress(text);
  return parsed.ok ? formatAddress(parsed.value) : text;
}
