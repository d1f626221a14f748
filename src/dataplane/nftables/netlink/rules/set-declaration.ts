import { dataTypes, setFlags, type DataType } from '../constants.ts';

/** A set or map in the form that the kernel needs. */
export interface SetDeclaration {
  readonly flags: number;
  readonly key: readonly DataType[];
  readonly value: readonly DataType[] | 'verdict' | undefined;
  readonly size: number | undefined;
  /** Milliseconds. */
  readonly timeout: number | undefined;
}

/**
 * Parses the text between the braces of "add set": "type ipv4_addr . inet_service : classid ; flags interval ; size 10 ; timeout 1d ;".
 * Throws for anything else. A test parses all declarations of the skeleton.
 *
 * A hash has the type mark here. The kernel needs only lengths; the type decides how nft lists the set, and nft has no hash type that every
 * version can list without crashing.
 */
export function readDeclaration(text: string): SetDeclaration {
  let key: readonly DataType[] = [];
  let value: readonly DataType[] | 'verdict' | undefined;
  let flags = 0;
  let size: number | undefined;
  let timeout: number | undefined;
  for (const clause of text.split(';').map((part) => part.trim())) {
    const [word = '', ...rest] = clause.split(' ');
    const body = rest.join(' ');
    switch (word) {
      case '':
        break;
      case 'type':
      case 'typeof': {
        const [keyText = '', valueText] = body.split(' : ');
        key = keyText.split(' . ').map(typeOf);
        if (valueText !== undefined) {
          flags |= setFlags.map;
          value = valueText === 'verdict' ? 'verdict' : valueText.split(' . ').map(typeOf);
        }
        break;
      }
      case 'flags':
        for (const flag of body.split(',')) flags |= flagOf(flag);
        break;
      case 'size':
        size = Number(body);
        break;
      case 'timeout':
        timeout = milliseconds(body);
        break;
      default:
        throw new Error(`unknown clause of a set: ${clause}`);
    }
  }
  if (key.length > 1 && (flags & setFlags.interval) !== 0) flags |= setFlags.concatenation;
  return { flags, key, value, size, timeout };
}

/** Packs the types of a concatenation into one number, six bits each, as nft does. */
export function typeNumber(types: readonly DataType[]): number {
  return types.reduce((number, type) => (number << 6) | dataTypes[type].number, 0);
}

/** Returns the length in octets: the own length of a single type, a multiple of four for each part of a concatenation. */
export function typeLength(types: readonly DataType[]): number {
  const [only] = types;
  if (only !== undefined && types.length === 1) return dataTypes[only].length;
  return types.reduce((sum, type) => sum + ((dataTypes[type].length + 3) & ~3), 0);
}

function typeOf(text: string): DataType {
  if (text.startsWith('numgen ') || text.startsWith('jhash ')) return 'mark';
  if (text === 'meta priority') return 'classid';
  if (Object.hasOwn(dataTypes, text)) return text as DataType;
  throw new Error(`unknown type of a set: ${text}`);
}

function flagOf(text: string): number {
  const flag = (['interval', 'dynamic', 'timeout'] as const).find((each) => each === text.trim());
  if (flag === undefined) throw new Error(`unknown flag of a set: ${text}`);
  return setFlags[flag];
}

function milliseconds(text: string): number {
  const match = /^(\d+)([smhd])$/.exec(text);
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
  const unit = units[match?.[2] ?? ''];
  if (unit === undefined) throw new Error(`invalid timeout of a set: ${text}`);
  return Number(match?.[1]) * unit * 1_000;
}
