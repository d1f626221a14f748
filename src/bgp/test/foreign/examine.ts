import { isDeepStrictEqual } from 'node:util';
import { errorName } from '../../wire/codes.ts';
import type { Disposition, Fault } from '../../wire/fault.ts';
import { decodeMessage, type Message } from '../../wire/message.ts';
import { checkMessage } from '../../../../test/fuzz/bgp/oracle.ts';
import { contentsOf } from './contents.ts';
import { explanationOf } from './explanations.ts';
import type { ForeignCase } from './foreign-case.ts';
import { sectionOf } from './sections.ts';

/** The result for one message. */
export interface Finding {
  readonly of: ForeignCase;
  /** `differs`: as the section demands. `deviates`: no section explains it. */
  readonly verdict: 'agrees' | 'differs' | 'deviates';
  /** The expected treatment or contents and those found, in words. Empty if they agree. */
  readonly text: string;
  /** The section of an RFC. Empty if they agree. */
  readonly section: string;
  /** Why the section makes the difference right. Empty for the other verdicts. */
  readonly why: string;
}

/** How this codec treated a message. */
export interface Treatment {
  readonly kind: 'accepted' | Disposition;
  /** The strongest fault. */
  readonly fault?: Fault;
}

/** Decodes a message with this codec and compares the result with the expectation of its suite. */
export function examine(of: ForeignCase): Finding {
  const promise = brokenPromise(of);
  if (promise !== undefined) return { of, verdict: 'deviates', text: promise, section: 'RFC 4271 4', why: '' };
  const result = decodeMessage(of.bytes, of.session);
  const treatment = treatmentOf(of, result.ok ? result.value : result.fault);
  const difference = differenceOf(of, treatment) ?? (result.ok ? contentsDifference(of, result.value) : undefined);
  if (difference === undefined) return { of, verdict: 'agrees', text: '', section: '', why: '' };
  const explanation = explanationOf(of, treatment);
  if (explanation !== undefined) return { of, verdict: 'differs', text: difference, ...explanation };
  return { of, verdict: 'deviates', text: difference, section: of.section === '' ? sectionOf(treatment.fault) : of.section, why: '' };
}

/** Returns which promise of the codec is broken for these octets, if any: it never throws, and encodes to the same content. */
function brokenPromise({ bytes }: ForeignCase): string | undefined {
  try {
    checkMessage(bytes);
    return undefined;
  } catch (error) {
    return `the codec fails: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function treatmentOf({ bytes, session, attribute }: ForeignCase, result: Message | Fault): Treatment {
  if ('disposition' in result) return { kind: 'reset', fault: result };
  if (result.kind !== 'update') return { kind: 'accepted' };
  const strongest =
    result.faults.find(({ disposition }) => disposition === 'withdraw') ?? result.faults.find((fault) => !isForeignFamily(fault));
  if (result.treatAsWithdraw) return { kind: 'withdraw', ...(strongest === undefined ? {} : { fault: strongest }) };
  if (strongest !== undefined) return { kind: 'discard', fault: strongest };
  if (attribute === undefined) return { kind: 'accepted' };
  const without = decodeMessage(attribute.without, session);
  const isGone = without.ok && without.value.kind === 'update' && isDeepStrictEqual(without.value.attributes, result.attributes);
  return { kind: isGone && bytes.length !== attribute.without.length ? 'discard' : 'accepted' };
}

/** Routes of a family that the session does not carry are no fault of the message. */
const isForeignFamily = ({ problem }: Fault): boolean => problem.startsWith('routes of ');

function differenceOf({ expected }: ForeignCase, { kind, fault }: Treatment): string | undefined {
  const wanted = expected.treatment === 'valid' ? 'accepted' : expected.treatment;
  const cause = fault === undefined ? '' : ` (${fault.problem})`;
  if (kind !== wanted) return `expected ${wanted}, found ${kind}${cause}`;
  const { notification } = expected;
  if (notification === undefined || fault === undefined) return undefined;
  const [code, subcode] = notification;
  if (fault.code === code && fault.subcode === subcode) return undefined;
  return `expected ${errorName(code, subcode)}, found ${errorName(fault.code, fault.subcode)}`;
}

function contentsDifference({ contents }: ForeignCase, message: Message): string | undefined {
  if (contents === undefined || message.kind !== 'update') return undefined;
  const found = contentsOf(message);
  const missing = [...contents].filter((each) => !found.has(each));
  const added = [...found].filter((each) => !contents.has(each));
  if (missing.length === 0 && added.length === 0) return undefined;
  return `expected ${missing.join('; ') || 'nothing else'}, found ${added.join('; ') || 'nothing else'}`;
}
