// Longer than usual: one language.
import type { Family } from '../../../../net/address.ts';
import { classNumber } from '../../../ruleset/classid.ts';
import { tableFamily } from '../../../ruleset/layout.ts';
import { protocolFamily } from '../constants.ts';
import {
  conntrackKeys,
  originalKeys,
  expressions,
  hostNumber,
  metaKeys,
  payloadBases,
  routeFlags,
  type Expression,
} from './expressions.ts';
import {
  addressTypes,
  ethernet,
  icmpCodes,
  icmpTypes,
  interfaceName,
  maximumSegmentSize,
  protocols,
  states,
  statuses,
  tcpFlags,
} from './rule-keywords.ts';

/** An anonymous set in a rule. It belongs to the rule. */
export interface AnonymousSet {
  /** Identifies the set within a transaction. */
  readonly id: number;
  readonly type: 'inet_proto';
  readonly keys: readonly Uint8Array[];
}

interface CompiledRule {
  readonly expressions: readonly Expression[];
  readonly sets: readonly AnonymousSet[];
}

/** The name that nft gives to anonymous sets. The kernel replaces the last two characters by a number. */
export const anonymousName = '__set%d';

/**
 * Translates a rule of our skeleton into the kernel's expressions, the same that the nft command makes of it. It knows only the part of
 * nft's language that the skeleton uses, and throws for anything else. A test compiles every rule. `nextId` numbers the anonymous sets of a
 * transaction.
 */
export function compileRule(rule: string, family: Family, nextId: () => number): CompiledRule {
  const compiler = new RuleCompiler(rule, family, nextId);
  compiler.statements();
  return compiler;
}

/** A loaded term: its length in octets, and the kind that says how a constant compared with it is encoded. */
interface Term {
  readonly length: number;
  readonly kind: 'address' | 'protocol' | 'port' | 'number' | 'class' | 'state' | 'status' | 'addressType' | 'interface' | 'link';
}

const padded = (length: number): number => (length + 3) & ~3;
/** An address is at the first registers; what follows it is at this offset. */
const addressRegisters = 16;
const nextWhole = (octet: number): number => (octet + 15) & ~15;

class RuleCompiler implements CompiledRule {
  readonly expressions: Expression[] = [];
  readonly sets: AnonymousSet[] = [];
  readonly #rule: string;
  readonly #family: Family;
  readonly #nextId: () => number;
  readonly #words: readonly string[];
  #at = 0;

  constructor(rule: string, family: Family, nextId: () => number) {
    this.#rule = rule;
    this.#family = family;
    this.#nextId = nextId;
    this.#words = rule.split(' ').map((word) => word.replace(/,$/, ''));
  }

  statements(): void {
    while (this.#at < this.#words.length) this.#statement();
  }

  #statement(): void {
    switch (this.#peek()) {
      case 'accept':
      case 'drop':
      case 'return':
        this.#emit(expressions.verdict(this.#next()));
        return;
      case 'jump':
      case 'goto':
        this.#emit(expressions.verdict(`${this.#next()} ${this.#next()}`));
        return;
      case 'masquerade':
        this.#skip('masquerade');
        this.#emit(expressions.masquerade(this.#accept('fully-random')));
        return;
      case 'reject':
        this.#reject();
        return;
      case 'notrack':
        this.#skip('notrack');
        this.#emit(expressions.notrack());
        return;
      case 'tcp':
        this.#tcp();
        return;
      case 'icmp':
      case 'icmpv6':
        this.#icmp(this.#next() as 'icmp' | 'icmpv6');
        return;
      case 'limit':
        this.#limit();
        return;
      case 'dup':
        this.#duplicate();
        return;
      case 'dnat':
        this.#destinationNat();
        return;
      case 'counter':
        this.#skip('counter');
        this.#emit(expressions.counter());
        return;
      case 'add':
        this.#count();
        return;
      case 'update':
      case 'delete':
        this.#dynamic(this.#next() as 'update' | 'delete');
        return;
      case 'meta':
        if (this.#words[this.#at + 2] === 'set') {
          this.#assignment();
          return;
        }
        break;
      default:
    }
    this.#match();
  }

  #reject(): void {
    this.#skip('reject');
    if (this.#accept('with')) {
      this.#skip('tcp', 'reset');
      this.#emit(expressions.rejectWithReset());
    } else {
      this.#emit(expressions.reject(this.#family === 4 ? 3 : 4));
    }
  }

  /** tcp flags syn; tcp option maxseg size set 1410 */
  #tcp(): void {
    this.#skip('tcp');
    if (this.#accept('flags')) {
      const bit = this.#choose(tcpFlags);
      this.#emit(expressions.metaLoad(metaKeys.l4proto, 0));
      this.#emit(expressions.compare(true, Uint8Array.of(protocols['tcp'] ?? 0)));
      this.#emit(expressions.payload(payloadBases.transport, 13, 1, 0));
      this.#emit(expressions.bits(bit));
      this.#emit(expressions.compare(false, Uint8Array.of(0)));
      return;
    }
    this.#skip('option', 'maxseg', 'size', 'set');
    const size = this.#number();
    this.#emit(expressions.constant(Uint8Array.of(size >> 8, size & 0xff)));
    this.#emit(expressions.setTcpOption(maximumSegmentSize.kind, maximumSegmentSize.offset));
  }

  /** icmp type echo-request; icmp type destination-unreachable icmp code frag-needed */
  #icmp(protocol: 'icmp' | 'icmpv6'): void {
    this.#skip('type');
    const numbers = [this.#choose(icmpTypes[protocol])];
    if (this.#peek() === protocol && this.#words[this.#at + 1] === 'code') {
      this.#skip(protocol, 'code');
      numbers.push(this.#choose(icmpCodes));
    }
    this.#emit(expressions.metaLoad(metaKeys.l4proto, 0));
    this.#emit(expressions.compare(true, Uint8Array.of(protocol === 'icmp' ? 1 : 58)));
    this.#emit(expressions.payload(payloadBases.transport, 0, numbers.length, 0));
    this.#emit(expressions.compare(true, Uint8Array.from(numbers)));
  }

  /** limit rate over 100/second burst 100 packets */
  #limit(): void {
    this.#skip('limit', 'rate', 'over');
    const rate = /^(\d+)\/second$/.exec(this.#next())?.[1] ?? this.#fail('no rate by the second');
    this.#skip('burst');
    this.#emit(expressions.limitOver(BigInt(rate), this.#number()));
    this.#skip('packets');
  }

  /** dup to KEY map @NAME; dup to KEY map @NAME device NUMBER */
  #duplicate(): void {
    this.#skip('dup', 'to');
    this.#key(0);
    this.#skip('map');
    this.#emit(expressions.mapLookup(this.#setName()));
    const hasDevice = this.#accept('device');
    if (hasDevice) this.#emit(expressions.constant(hostNumber(this.#number()), addressRegisters));
    this.#emit(expressions.duplicate(hasDevice ? addressRegisters : undefined));
  }

  /** dnat to KEY map @NAME; dnat ip addr . port to KEY map @NAME */
  #destinationNat(): void {
    const table = tableFamily(this.#family);
    this.#skip('dnat');
    const hasPort = this.#accept(table);
    if (hasPort) this.#skip('addr', '.', 'port');
    this.#skip('to');
    this.#key(0);
    this.#skip('map');
    this.#emit(expressions.mapLookup(this.#setName()));
    const port = this.#family === 4 ? 4 : 16;
    this.#emit(expressions.destinationNat(protocolFamily[table], hasPort ? port : undefined));
  }

  /** add @NAME { KEY counter } */
  #count(): void {
    this.#skip('add');
    const set = this.#setName();
    this.#skip('{');
    this.#key(0);
    this.#skip('counter', '}');
    this.#emit(expressions.count('add', set));
  }

  /** update @NAME { KEY timeout 10s : meta priority }; update @NAME { KEY counter } */
  #dynamic(operation: 'update' | 'delete'): void {
    const map = this.#setName();
    this.#skip('{');
    const value = nextWhole(this.#key(0).length);
    if (operation === 'update' && this.#accept('counter')) {
      this.#skip('}');
      this.#emit(expressions.count(operation, map));
      return;
    }
    const timeout = this.#accept('timeout') ? this.#seconds() * 1_000 : undefined;
    this.#skip(':');
    this.#term(value);
    this.#skip('}');
    this.#emit(expressions.dynamic(operation, map, value, timeout));
  }

  /** meta mark set meta mark or 0x4000; meta priority set 0:1; meta priority set KEY map @NAME; meta priority set numgen ... */
  #assignment(): void {
    this.#skip('meta');
    const key = this.#metaKey();
    this.#skip('set');
    if (this.#peek().includes(':')) this.#emit(expressions.constant(this.#constant('class', this.#next())));
    else this.#key(0);
    if (this.#accept('map')) this.#emit(expressions.mapLookup(this.#setName()));
    else if (this.#accept('or')) {
      const bits = this.#number();
      this.#emit(expressions.bitwise(~bits, bits));
    } else if (this.#accept('and')) this.#emit(expressions.bitwise(this.#number(), 0));
    else if (this.#accept('xor')) this.#emit(expressions.bitwise(0xffff_ffff, this.#number()));
    this.#emit(expressions.metaSet(key));
  }

  /** KEY @NAME, KEY != @NAME, KEY vmap @NAME, KEY { a, b }, KEY and NUMBER != 0 (or ==), KEY and NUMBER vmap @NAME, KEY VALUE */
  #match(): void {
    const term = this.#key(0);
    const word = this.#next();
    if (word === 'vmap') this.#emit(expressions.verdictLookup(this.#setName()));
    else if (word === '!=') this.#emit(expressions.lookup(this.#setName(), undefined, true));
    else if (word.startsWith('@')) this.#emit(expressions.lookup(word.slice(1), undefined, false));
    else if (word === '{') this.#oneOf(term);
    else if (word === 'and') {
      this.#emit(expressions.bitwise(this.#number(), 0));
      if (this.#accept('vmap')) this.#emit(expressions.verdictLookup(this.#setName()));
      else {
        const isEqual = this.#accept('==');
        if (!isEqual) this.#skip('!=');
        this.#emit(expressions.compare(isEqual, hostNumber(this.#number())));
      }
    } else this.#equals(term, word);
  }

  #oneOf({ kind }: Term): void {
    if (kind !== 'protocol') this.#fail('an anonymous set may contain only protocols');
    const keys: Uint8Array[] = [];
    while (!this.#accept('}')) keys.push(Uint8Array.of(this.#named(protocols, this.#next())));
    const set: AnonymousSet = { id: this.#nextId(), type: 'inet_proto', keys };
    this.sets.push(set);
    this.#emit(expressions.lookup(anonymousName, set.id, false));
  }

  #equals({ kind }: Term, word: string): void {
    if (kind !== 'state' && kind !== 'status') {
      this.#emit(expressions.compare(true, this.#constant(kind, word)));
      return;
    }
    // A state or status is one bit of several.
    this.#emit(expressions.bitwise(this.#named(kind === 'state' ? states : statuses, word), 0));
    this.#emit(expressions.compare(false, hostNumber(0)));
  }

  #constant(kind: Term['kind'], word: string): Uint8Array {
    if (kind === 'protocol') return Uint8Array.of(this.#named(protocols, word));
    if (kind === 'class') return hostNumber(classNumber(word));
    if (kind === 'addressType') return hostNumber(this.#named(addressTypes, word));
    if (kind === 'interface') return interfaceName(word);
    return this.#fail(`no comparison with ${word} is supported`);
  }

  /** Loads terms joined by dots one after the other from `octet` on, each padded to a multiple of four octets. */
  #key(octet: number): Term {
    let { kind, length } = this.#term(octet);
    while (this.#accept('.')) {
      const term = this.#term(octet + padded(length));
      kind = term.kind;
      length = padded(length) + padded(term.length);
    }
    return { kind, length };
  }

  #term(octet: number): Term {
    const word = this.#next();
    switch (word) {
      case 'ip':
      case 'ip6': {
        if (word !== tableFamily(this.#family)) this.#fail('the other address family');
        const length = this.#family === 4 ? 4 : 16;
        const source = this.#family === 4 ? 12 : 8;
        const offset = source + this.#choose({ saddr: 0, daddr: length });
        this.#emit(expressions.payload(payloadBases.network, offset, length, octet));
        return { length, kind: 'address' };
      }
      case 'iif':
        this.#emit(expressions.metaLoad(metaKeys.iif, octet));
        return { length: 4, kind: 'number' };
      case 'iifname':
        this.#emit(expressions.metaLoad(metaKeys.iifname, octet));
        return { length: 16, kind: 'interface' };
      case 'th':
        this.#emit(expressions.payload(payloadBases.transport, this.#choose({ sport: 0, dport: 2 }), 2, octet));
        return { length: 2, kind: 'port' };
      case 'ether':
        this.#emit(expressions.metaLoad(metaKeys.iiftype, octet));
        this.#emit(expressions.compare(true, ethernet));
        this.#emit(expressions.payload(payloadBases.link, this.#choose({ daddr: 0, saddr: 6 }), 6, octet));
        return { length: 6, kind: 'link' };
      case 'meta': {
        const key = this.#metaKey();
        this.#emit(expressions.metaLoad(key, octet));
        if (key === metaKeys.l4proto) return { length: 1, kind: 'protocol' };
        return { length: 4, kind: key === metaKeys.priority ? 'class' : 'number' };
      }
      case 'ct': {
        if (this.#accept('original')) return this.#original(octet);
        const key = this.#choose(conntrackKeys);
        this.#emit(expressions.conntrack(key, octet));
        return { length: 4, kind: key === conntrackKeys.state ? 'state' : 'status' };
      }
      case 'fib': {
        const flag = this.#choose(routeFlags);
        this.#skip('type');
        this.#emit(expressions.addressType(flag, octet));
        return { length: 4, kind: 'addressType' };
      }
      case 'numgen':
        this.#numberGenerator(octet);
        return { length: 4, kind: 'number' };
      case 'jhash': {
        const from = nextWhole(octet + 4);
        const { length } = this.#key(from);
        this.#skip('mod');
        const modulus = this.#number();
        this.#skip('seed');
        this.#emit(expressions.hash(from, padded(length), modulus, this.#number(), octet));
        return { length: 4, kind: 'number' };
      }
      default:
        return this.#fail(`unknown term: ${word}`);
    }
  }

  /** numgen random mod NUMBER, numgen inc mod NUMBER */
  #numberGenerator(octet: number): void {
    const isRandom = this.#accept('random');
    this.#skip(...(isRandom ? [] : ['inc']), 'mod');
    const modulus = this.#number();
    this.#emit(isRandom ? expressions.random(modulus, octet) : expressions.next(modulus, octet));
  }

  /** ct original ip daddr, ct original proto-dst */
  #original(octet: number): Term {
    const table = tableFamily(this.#family);
    if (!this.#accept(table)) {
      this.#skip('proto-dst');
      this.#emit(expressions.conntrackOriginal(originalKeys['proto-dst'], octet));
      return { length: 2, kind: 'port' };
    }
    this.#skip('daddr');
    this.#emit(expressions.conntrackOriginal(originalKeys.daddr[table], octet));
    return { length: this.#family === 4 ? 4 : 16, kind: 'address' };
  }

  #metaKey(): number {
    return this.#choose(metaKeys);
  }

  #choose(among: Readonly<Record<string, number>>): number {
    return this.#named(among, this.#next());
  }

  #named(among: Readonly<Record<string, number>>, word: string): number {
    return among[word] ?? this.#fail(`unknown: ${word}`);
  }

  #setName(): string {
    const word = this.#next();
    return word.startsWith('@') ? word.slice(1) : this.#fail(`no set: ${word}`);
  }

  #number(): number {
    const word = this.#next();
    const value = Number(word);
    return word !== '' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff ? value : this.#fail(`no number: ${word}`);
  }

  #seconds(): number {
    const match = /^(\d+)s$/.exec(this.#next());
    return match === null ? this.#fail('no number of seconds') : Number(match[1]);
  }

  #emit(expression: Expression): void {
    this.expressions.push(expression);
  }

  #peek(): string {
    return this.#words[this.#at] ?? '';
  }

  #next(): string {
    return this.#words[this.#at++] ?? this.#fail('it ends too early');
  }

  #accept(word: string): boolean {
    if (this.#peek() !== word) return false;
    this.#at++;
    return true;
  }

  #skip(...words: string[]): void {
    for (const word of words) if (!this.#accept(word)) this.#fail(`no ${word}`);
  }

  #fail(why: string): never {
    throw new Error(`the rule "${this.#rule}" cannot be compiled, at word ${this.#at}: ${why}`);
  }
}
