import { InvalidArgumentError } from 'commander';
import { DataplaneError } from '../../../dataplane/dataplane.ts';
import { runCommand, type CommandLine } from '../../../dataplane/run-command.ts';
import type { RouterCheck } from '../../../explain/check/facts.ts';
import { readRouterAnswer, type RouterAnswer } from '../../../explain/check/router-answer.ts';
import { limits } from '../../limits.ts';

/** A command of the user that prints what a router has. `{prefix}`, `{address}` and `{family}` in its words are replaced. */
export interface RouterCommand {
  readonly router: string;
  readonly words: CommandLine;
}

/** Reads NAME=COMMAND. Throws InvalidArgumentError. */
export function readRouter(text: string): RouterCommand {
  const at = text.indexOf('=');
  const router = text.slice(0, at).trim();
  if (at < 1 || router === '') throw new InvalidArgumentError('Write NAME=COMMAND, such as tor1="ssh tor1 birdc show route {prefix} all".');
  const [program, ...rest] = splitWords(text.slice(at + 1));
  if (program === undefined || program === '') throw new InvalidArgumentError('The command is empty.');
  if (![program, ...rest].some((word) => /\{(?:prefix|address)\}/.test(word)))
    throw new InvalidArgumentError('The command must have {prefix} or {address}, which is replaced by what to ask for.');
  return { router, words: [program, ...rest] };
}

/**
 * Splits a command into words as a shell does, and does nothing else that a shell does: no variable, no pattern, no substitution. Single
 * quotes keep everything. Double quotes keep everything but a backslash before a quote or a backslash. Throws InvalidArgumentError when a
 * quote is not closed.
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    const next = text.charAt(at + 1);
    if (letter === '\\' && quote !== "'" && next !== '' && (quote === undefined || next === '"' || next === '\\')) {
      word = (word ?? '') + next;
      at++;
    } else if (letter === quote) quote = undefined;
    else if (quote === undefined && (letter === "'" || letter === '"')) {
      quote = letter;
      word ??= '';
    } else if (quote === undefined && /\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + letter;
  }
  if (quote !== undefined) throw new InvalidArgumentError(`A quote (${quote}) is not closed.`);
  return word === undefined ? words : [...words, word];
}

/** Runs the command for a prefix, without a shell. Never rejects. */
export async function askRouter({ router, words }: RouterCommand, prefix: string): Promise<RouterCheck> {
  return { router, prefix, answer: await answerOf(words, prefix) };
}

async function answerOf(words: CommandLine, prefix: string): Promise<RouterAnswer> {
  const address = prefix.slice(0, prefix.lastIndexOf('/'));
  const values: Readonly<Record<string, string>> = { prefix, address, family: address.includes(':') ? 'ipv6' : 'ipv4' };
  const [program, ...rest] = words.map((word) => word.replaceAll(/\{(prefix|address|family)\}/g, (_, name: string) => values[name] ?? ''));
  try {
    const bounds = { timeout: limits.routerMilliseconds, outputBytes: limits.routerBytes };
    const { status, stdout, stderr } = await runCommand([program ?? '', ...rest], '', bounds);
    if (status === 0) return readRouterAnswer(printable(stdout), prefix, limits.routerShownCharacters);
    return { has: 'failed', why: `the command ended with status ${status}: ${firstLine(printable(`${stderr}\n${stdout}`))}` };
  } catch (error) {
    if (!(error instanceof DataplaneError)) throw error;
    return {
      has: 'failed',
      why: `${firstLine(printable(error.message))} (limits: ${limits.routerMilliseconds / 1000} s, ${limits.routerBytes} octets)`,
    };
  }
}

/** A router's text must not control the terminal. */
// oxlint-disable-next-line no-control-regex -- these characters are what is removed
const printable = (text: string): string => text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';
