import type { PathInput, RouteInput } from 'herald/bgp';

export type Command = { readonly announce: RouteInput } | { readonly withdraw: PathInput };

/** The numbers and lists of communities that follow the prefix, by ExaBGP's names. */
const numbers = { med: 'med', 'local-preference': 'localPref' } as const;
const lists = new Set(['community', 'large-community']);

/**
 * Reads a line of ExaBGP's text API: `announce route 192.0.2.1/32 next-hop self med 100 community [ 64512:1 64512:2 ]` or `withdraw route
 * 192.0.2.1/32`. Throws for everything that this example does not support, so that no route is announced with less than was asked for.
 */
export function parseCommand(line: string): Command {
  const words = line.replaceAll(/[[\]]/g, ' $& ').trim().split(/\s+/);
  const [verb, kind, prefix = '', ...rest] = words;
  if (verb === 'withdraw' && kind === 'route') {
    // The prefix and its path identifier name the route. The attributes do not matter.
    const identifier = rest[rest.indexOf('path-information') + 1];
    return { withdraw: rest.includes('path-information') ? { prefix, pathId: identifierOf(identifier ?? '') } : prefix };
  }
  if (verb === 'announce' && kind === 'route') return { announce: { prefix, ...attributes(rest) } };
  throw new Error(`"${words.slice(0, 2).join(' ')}" is not supported: write "announce route" or "withdraw route"`);
}

function attributes(words: readonly string[]): Omit<RouteInput, 'prefix'> {
  const route: { nextHop?: string; pathId?: number; med?: number; localPref?: number; communities: string[] } = { communities: [] };
  const rest = [...words];
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const values = valuesOf(rest);
    if (isNumber(name)) route[numbers[name]] = Number(values[0]);
    else if (lists.has(name)) route.communities.push(...values);
    else if (name === 'path-information') route.pathId = identifierOf(values[0] ?? '');
    else if (name !== 'next-hop') throw new Error(`"${name} ${values.join(' ')}" is not supported`);
    // For "self" the speaker sends its own address of the session.
    else if (values[0] !== undefined && values[0] !== 'self') route.nextHop = values[0];
  }
  return route;
}

/** A path identifier is a number, or is written like an IPv4 address. */
function identifierOf(text: string): number {
  if (!text.includes('.')) return Number(text);
  return text.split('.').reduce((value, part) => value * 256 + Number(part), 0);
}

const isNumber = (name: string): name is keyof typeof numbers => Object.hasOwn(numbers, name);

/** Takes a word or a list in brackets from the front. */
function valuesOf(words: string[]): string[] {
  const [first = ''] = words.splice(0, 1);
  if (first !== '[') return [first];
  const end = words.indexOf(']');
  if (end < 0) throw new Error('a list has no closing bracket');
  return words.splice(0, end + 1).slice(0, -1);
}
