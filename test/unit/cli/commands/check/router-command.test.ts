import { describe, expect, test } from 'vitest';
import { askRouter, readRouter, splitWords } from '../../../../../src/cli/commands/check/router-command.ts';

const prefix = '198.51.100.10/32';

describe('splitWords', () => {
  test.each([
    [`a  b\tc`, ['a', 'b', 'c']],
    [`ssh tor1 'vtysh -c "show x json"'`, ['ssh', 'tor1', 'vtysh -c "show x json"']],
    [`ssh tor1 "vtysh -c \\"show x\\""`, ['ssh', 'tor1', 'vtysh -c "show x"']],
    [`a"b"'c'd ''`, ['abcd', '']],
    [`'a\\b' "a\\b" a\\ b`, ['a\\b', 'a\\b', 'a b']],
    [`a $HOME \`id\` $(id) ; | & > * ~`, ['a', '$HOME', '`id`', '$(id)', ';', '|', '&', '>', '*', '~']],
    ['', []],
  ])('%s', (text, words) => expect(splitWords(text)).toEqual(words));

  test.each([`a "b`, `a 'b`])('refuses a quote that is not closed: %s', (text) => expect(() => splitWords(text)).toThrow(/not closed/));
});

test.each([
  ['tor1', /NAME=COMMAND/],
  ['=ssh {prefix}', /NAME=COMMAND/],
  ['tor1=', /empty/],
  ['tor1=ssh tor1 show', /\{prefix\}/],
])('--router %s is refused', (text, message) => expect(() => readRouter(text)).toThrow(message));

const ask = (command: string, of = prefix) => askRouter(readRouter(`tor1=${command}`), of);

test('a command runs without a shell, with the prefix, address and family in its words', async () => {
  const { answer } = await ask(`echo "{prefix} {address} {family}" $HOME ; {prefix}`);
  expect(answer).toEqual({ has: 'unread', text: `${prefix} 198.51.100.10 ipv4 $HOME ; ${prefix}` });
  expect((await ask('echo {family} {address}', '2001:db8::1/128')).answer).toEqual({ has: 'unread', text: 'ipv6 2001:db8::1' });
});

test('a command that fails or is missing is no answer', async () => {
  expect((await ask('false {prefix}')).answer).toEqual({ has: 'failed', why: 'the command ended with status 1: ' });
  expect((await ask('/nonexistent/program {prefix}')).answer).toEqual({ has: 'failed', why: expect.stringContaining('cannot run') });
});

test('an endless output is cut, and control characters are not shown', async () => {
  expect((await ask('yes {prefix}')).answer).toEqual({ has: 'failed', why: expect.stringContaining('1048576 octets') });
  expect((await ask(`printf "\\033[31m{prefix}\\a"`)).answer).toEqual({ has: 'unread', text: `[31m${prefix}` });
});
