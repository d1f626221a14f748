import { parsed, invalid, type Parsed } from './parsed.ts';

/** Reads an interface name of at most 15 characters, or a prefix followed by "*". */
export function parseInterfacePattern(text: string): Parsed<string> {
  return /^[\w.:@-]{1,15}$|^[\w.:@-]{1,14}\*$/.test(text)
    ? parsed(text)
    : invalid('is neither the name of an interface, such as cni0, nor the beginning of one with a *, such as cali*');
}

export function matchesInterface(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
